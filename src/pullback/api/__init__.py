"""The operators that users see, one file each, over the kernels of `ad.compile`."""
