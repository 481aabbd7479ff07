"""A user's pipeline: passes before and after types, and differentiation among them."""

import operator
import sys
from importlib.metadata import Distribution, EntryPoint, EntryPoints

import pytest

import pullback as pb
from pullback.ir.edit import replace_calls
from pullback.ir.verify import verify
from pullback.passes import registry
from pullback.runtime.tape import Tape


def product(x, y):
    return x * y + x


def sums(ir):
    """Products become sums."""
    return replace_calls(ir, {operator.mul: operator.add})


def doubles(ir):
    """A new IR: what is returned is doubled."""
    new = ir.copy()
    (block,) = new
    op = new.call(operator.mul, block.term.value, 2)
    block.ops.append(op)
    block.term.value = op.result
    return new


def test_untyped_passes_leave_a_function_as_it_was():
    manager = pb.PassManager(verify=verify)
    manager.add(sums, stage="untyped").add(doubles, stage="untyped")
    f = pb.transform(product, passes=manager)
    assert f(3, y=4) == 2 * (3 + 4 + 3) and f.__name__ == "product"
    assert manager.changes == {"sums": 1, "doubles": 1}


def test_differentiation_is_a_pass_among_others():
    manager = pb.PassManager()
    manager.add(sums, stage="untyped").add("fold", stage="typed").add("gradient", stage="ad")
    manager.add("dce", stage="after")
    f = pb.transform(product, 3.0, 4.0, passes=manager)
    assert f(Tape(), 3.0, 4.0, 1.0) == (10.0, 2.0, 1.0)
    g = pb.transform(product, 3.0, 4.0, passes=pb.PassManager().add("gradient", stage="ad"))
    assert g(Tape(), 3.0, 4.0, 2.0) == (15.0, 10.0, 6.0)
    push = pb.transform(product, 3.0, 4.0, passes=pb.PassManager().add("pushforward", stage="ad"))
    assert push(3.0, 4.0, 1.0, 0.0) == (15.0, 5.0)


def test_passes_of_packages_are_off_until_they_are_named(monkeypatch):
    class Package(Distribution):
        metadata = {"Name": "others"}

        def read_text(self, name):
            return None

        def locate_file(self, path):
            return path

    point = EntryPoint("sums", f"{__name__}:sums", registry.GROUP)
    vars(point).update(dist=Package())
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints([point]))
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this())
    plain = pb.PassManager().add("fold")
    assert "sums" in registry.available() and "sums" not in plain.describe()
    manager = pb.PassManager().add(doubles, stage="untyped").add("sums", stage="untyped")
    assert manager.describe().split() == [
        "untyped:", "doubles", doubles.__module__.partition(".")[0], "sums", "others",
    ]  # fmt: skip
    assert pb.transform(product, passes=manager)(3, 4) == (3 + 4 + 3) + 2
    with pytest.raises(KeyError, match="nothing_such"):
        manager.add("nothing_such")


def _this():
    import types

    module = types.ModuleType(__name__)
    module.sums = sums
    return module


def test_printing_before_and_after(capsys):
    manager = pb.PassManager(printing=["sums"]).add(sums).add(doubles)
    manager.run(pb.lift(product))
    printed = capsys.readouterr().err
    before, after = printed.split("-- after sums (main)")
    assert before.startswith("-- before sums (main)")
    assert "mul(" in before and "mul(" not in after and "doubles" not in printed


def raises(ir):
    raise KeyError("lost")


def nothing(ir):
    pass


def breaks(ir):
    ir.entry.term.value = ir.value("nowhere")
    return True


@pytest.mark.parametrize("bad, why", [
    (raises, "raised KeyError"), (nothing, "returned NoneType"), (breaks, "left broken IR"),
])  # fmt: skip
def test_a_bad_pass_is_named_with_the_function(bad, why):
    manager = pb.PassManager(verify=verify).add(bad)
    with pytest.raises(pb.PullbackError, match=rf"PB501.* {bad.__name__} {why}.*product"):
        manager.run(pb.lift(product))


@pytest.mark.parametrize("stage", ["untyped", "typed", "after"])
def test_a_bad_pass_is_named_with_the_function_at_every_stage(stage):
    manager = pb.PassManager().add("gradient", stage="ad").add(raises, stage=stage)
    with pytest.raises(pb.PullbackError, match=r"PB501.* raises raised KeyError.*product") as e:
        pb.transform(product, 3.0, 4.0, passes=manager)
    assert (e.value.loc.file, e.value.loc.line) == (__file__, product.__code__.co_firstlineno)
