"""The files that the TFLite converter makes of Keras models: what it leaves, and what is left of that when fused."""
from __future__ import annotations

from pathlib import Path

import pytest
from tflite import BuiltinOperator, Model, TensorType

from tests.converted import DATA, FILES
from tflfuse import fuse
from tflfuse.proof import fuse_and_prove, measure

EXAMPLES = DATA.parent.parent / "examples"
NAMES = {code: name for name, code in vars(BuiltinOperator).items() if not name.startswith("_")}


def operators_of(data: bytes) -> str:
    model = Model.GetRootAs(data)
    graph = model.Subgraphs(0)
    codes = [model.OperatorCodes(graph.Operators(i).OpcodeIndex()) for i in range(graph.OperatorsLength())]
    return " ".join(NAMES[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())] for code in codes)


def test_the_table_names_every_committed_file() -> None:
    assert {path.stem for path in DATA.glob("*.tflite")} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_committed_file_has_the_operators_of_its_table(name: str) -> None:
    assert operators_of((DATA / f"{name}.tflite").read_bytes()) == FILES[name].operators


@pytest.mark.parametrize("name", FILES)
def test_what_is_left_when_fused_and_proved(name: str) -> None:
    file, data = FILES[name], (DATA / f"{name}.tflite").read_bytes()
    result = fuse_and_prove(data, custom_ops=False)
    assert operators_of(result.model) == (file.fused or file.operators)
    proof = result.report.proof
    assert proof is not None and proof.whole.unstable == (name == "dilated_open_batch")


@pytest.mark.parametrize("path", [*sorted(DATA.glob("*.tflite")), *sorted(EXAMPLES.glob("*.tflite"))],
                         ids=lambda path: path.stem)
def test_no_fold_goes_further_from_the_real_valued_function(path: Path) -> None:
    """Each is measured by itself, none is left out because of that: what the rules estimate is what happens."""
    result = fuse(path.read_bytes(), custom_ops=False)
    for measured in measure(result):
        output = measured.step.before[-1].outputs[0]
        assert (measured.error is None) == (output.type == TensorType.FLOAT32), measured.step.label
        assert measured.error is None or measured.error.accepted, measured


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.tflite")), ids=lambda path: path.stem)
def test_an_example_is_proved_with_and_without_custom_operators(path: Path) -> None:
    for custom_ops in (False, True):
        proof = fuse_and_prove(path.read_bytes(), custom_ops=custom_ops).report.proof
        assert proof is not None and proof.whole.conclusive and proof.exact_part is not None and proof.exact_part.equal


@pytest.mark.parametrize("name", FILES)
def test_the_converter_still_leaves_these_operators(name: str) -> None:
    pytest.importorskip("tensorflow", reason="converting a Keras model needs TensorFlow: pip install tflfuse[tf]")
    from tests import keras_models
    file = FILES[name]
    model = keras_models.build(file.model, file.shape, file.batch)
    data = keras_models.convert(model, keras_models.normal_samples(file.shape), file.numbers, file.per_channel)
    assert operators_of(data) == file.operators
