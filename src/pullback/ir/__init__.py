"""The intermediate representation: data structure, printer, verifier, analyses."""
