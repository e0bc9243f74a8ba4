"""From a Keras model to a fused one. What needs TensorFlow is skipped where it is not installed."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tflfuse
from tests.build import names
from tests.readme import PROJECT
from tflfuse import flatbuffer
from tflfuse.keras import samples_of


@pytest.fixture
def keras() -> Any:
    return pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install tflfuse[tf]").keras


def input_of(name: str, *shape: int) -> Any:
    return SimpleNamespace(name=name, shape=(1, *shape), dtype="float32")


def test_importing_tflfuse_does_not_import_tensorflow() -> None:
    code = ("import sys, tflfuse, tflfuse.cli, tflfuse.evaluation; tflfuse.convert_keras; tflfuse.keras;"
            "print([name for name in sys.modules if name.split('.')[0] in ('tensorflow', 'keras', 'tf_keras')])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PROJECT)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_without_tensorflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(tflfuse.TflfuseError, match=r"pip install tflfuse\[tf\]"):
        tflfuse.convert_keras(SimpleNamespace(), np.zeros((1, 4)))
    with pytest.raises(tflfuse.TflfuseError, match=r"pip install tflfuse\[tf\]"):
        tflfuse.keras.FuseOnTrainEnd("model.tflite", np.zeros((1, 4)))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tflfuse.keras.Nothing


def test_samples_are_given_one_by_one_under_their_inputs_names() -> None:
    model = SimpleNamespace(inputs=[input_of("b", 2), input_of("a")])
    found = list(samples_of(model, [np.arange(4).reshape(2, 2), np.array([5, 6])]))
    assert [{name: value.tolist() for name, value in sample.items()} for sample in found] == [
        {"b": [[0, 1]], "a": [5]}, {"b": [[2, 3]], "a": [6]}]
    assert all(value.dtype == np.float32 for sample in found for value in sample.values())
    assert list(samples_of(model, lambda: iter([[1], [2]]))) == [[1], [2]]


@pytest.mark.parametrize("data", [np.zeros((5, 3)), np.zeros((0, 4)), [np.zeros((5, 4))] * 2])
def test_samples_that_do_not_fit_are_refused(data: Any) -> None:
    with pytest.raises(tflfuse.TflfuseError, match=r"takes samples of \[\[4\]\]"):
        list(samples_of(SimpleNamespace(inputs=[input_of("x", 4)]), data))


@pytest.mark.parametrize("data, said", [
    (lambda: iter([]), "gives no samples"), (np.array([[0.0], [np.inf]]), "sample 1 of .* no finite numbers"),
    (lambda: iter([[np.array([[np.nan]])]]), "sample 0 of .* no finite numbers"),
    (lambda: iter([{"x": np.array([[-np.inf]], np.float32)}]), "sample 0 of .* no finite numbers")])
def test_samples_that_measure_nothing_are_refused(data: Any, said: str) -> None:
    with pytest.raises(tflfuse.TflfuseError, match=said):
        list(samples_of(SimpleNamespace(inputs=[input_of("x", 1)]), data))


def test_a_model_is_quantized_at_a_batch_of_one_and_fused(keras: Any) -> None:
    x = keras.Input((8, 8, 4), name="image")
    y = keras.layers.Conv2D(8, 3, dilation_rate=2, activation="relu6")(x)
    model = keras.Model(x, keras.layers.Dense(3)(keras.layers.Flatten()(y)))
    data = np.random.default_rng(0).normal(0, 1, (20, 8, 8, 4)).astype(np.float32)
    result = tflfuse.convert_keras(model, data)
    original = flatbuffer.read(result.original)
    assert names(original) == ["CONV_2D", "RESHAPE", "FULLY_CONNECTED"]
    graph = original.subgraphs[0]
    assert [t.shape for t in graph.inputs + graph.outputs] == [(1, 8, 8, 4), (1, 3)]
    assert {t.dtype.name for t in graph.inputs + graph.outputs} == {"int8"}
    assert "CUSTOM:TFLFUSE_CHAIN_1" in names(flatbuffer.read(result.model))
    assert result.report.proof is not None and result.report.proof.whole.equal
    found = result.evaluate(data, model.predict(data, verbose=0))
    assert found.before == found.after == pytest.approx(0.01, abs=0.01), "quantizing moves it a little"
    builtin = tflfuse.convert_keras(model, lambda: ([sample[None]] for sample in data), custom_ops=False)
    assert names(flatbuffer.read(builtin.model)) == names(original)
    np.testing.assert_array_equal(builtin.evaluate(data).outputs[0].after, found.outputs[0].after)


def test_several_inputs_keep_their_data(keras: Any) -> None:
    """Their ranges differ by a factor of 100, and so do their scales."""
    first, second = keras.Input((4,), name="z"), keras.Input((4,), name="a")
    model = keras.Model([first, second], keras.layers.Concatenate()([keras.layers.Dense(2)(first), second]))
    data = np.random.default_rng(0).uniform(-1, 1, (20, 4)).astype(np.float32)
    result = tflfuse.convert_keras(model, [data, 100 * data])
    scales = {(t.name or b"").decode(): t.scale for t in flatbuffer.read(result.original).subgraphs[0].inputs}
    assert scales["serving_default_z:0"] == pytest.approx(2 / 255, rel=0.1)
    assert scales["serving_default_a:0"] == pytest.approx(200 / 255, rel=0.1)


def test_inputs_and_outputs_stand_in_the_order_of_keras(keras: Any) -> None:
    """The converter turns two inputs of one shape around, and the outputs too: data would go to the wrong one."""
    x = [keras.Input((4,), name=name) for name in ("a", "b", "c")]
    layers = [keras.layers.Dense(units) for units in (2, 3, 5)]
    model = keras.Model(x, [layer(value) for layer, value in zip(layers, x)])
    data = np.random.default_rng(0).uniform(-1, 1, (20, 4)).astype(np.float32)
    graph = flatbuffer.read(tflfuse.convert_keras(model, [data, 10 * data, 100 * data]).model).subgraphs[0]
    assert [t.name for t in graph.inputs] == [b"serving_default_a:0", b"serving_default_b:0", b"serving_default_c:0"]
    assert [t.shape for t in graph.outputs] == [(1, 2), (1, 3), (1, 5)]


def test_inputs_of_every_form_of_model_are_found(keras: Any) -> None:
    """A Sequential that was never called, and inputs in dictionaries, which Keras sorts."""
    data = np.random.default_rng(0).normal(0, 1, (20, 4)).astype(np.float32)
    sequential = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    x = {"a": keras.Input((4,), name="a"), "b": keras.Input((4,), name="b")}
    of_two = keras.Model(x, keras.layers.Dense(2)(keras.layers.Add()([x["a"], x["b"]])))
    z, y = keras.Input((4,), name="z"), keras.Input((4,), name="y")
    unsorted = keras.Model({"z": z, "y": y}, keras.layers.Dense(2)(keras.layers.Add()([y, z])))
    for model, samples in ((sequential, data), (of_two, [data, data]), (unsorted, [data, data])):
        found = tflfuse.convert_keras(model, samples, custom_ops=False)
        assert [t.shape for t in flatbuffer.read(found.model).subgraphs[0].inputs] == [(1, 4)] * len(model.inputs)


def test_models_that_cannot_be_converted_are_refused(keras: Any) -> None:
    with pytest.raises(tflfuse.TflfuseError, match="no inputs yet"):
        tflfuse.convert_keras(keras.Sequential([keras.layers.Dense(2)]), np.zeros((1, 4)))
    x = keras.Input((None, 4), name="sequence")
    with pytest.raises(tflfuse.TflfuseError, match="'sequence' has open dimensions"):
        tflfuse.convert_keras(keras.Model(x, keras.layers.Dense(2)(x)), np.zeros((1, 8, 4)))
    x = keras.Input((4,))
    with pytest.raises(tflfuse.TflfuseError, match="takes samples of"):
        tflfuse.convert_keras(keras.Model(x, keras.layers.Dense(2)(x)), np.zeros((1, 5)))


def test_training_ends_with_a_fused_file(keras: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = keras.Input((8, 8, 2))
    y = keras.layers.DepthwiseConv2D(3, padding="same")(keras.layers.Conv2D(4, 3, padding="same")(x))
    model = keras.Model(x, keras.layers.Dense(2)(keras.layers.GlobalAveragePooling2D()(y)))
    model.compile("adam", "mse")
    data = np.random.default_rng(0).normal(0, 1, (20, 8, 8, 2)).astype(np.float32)
    for verbose, said in ((0, False), (2, True)):
        path = tmp_path / f"{verbose}.tflite"
        callback = tflfuse.keras.FuseOnTrainEnd(path, data)
        assert callback.result is None
        model.fit(data, np.zeros((20, 2)), verbose=verbose, callbacks=[callback])
        assert callback.result is not None and path.read_bytes() == callback.result.model
        assert names(flatbuffer.read(path.read_bytes())) == ["CUSTOM:TFLFUSE_CHAIN_1"]
        assert ("kTensorArenaSize" in capsys.readouterr().out) == said


def test_no_training_begins_for_a_file_that_cannot_be_written(keras: Any, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    before = model.get_weights()[0]
    with pytest.raises(OSError, match="no/model"):
        model.fit(np.zeros((8, 4)) + 1, np.ones((8, 2)), verbose=0,
                  callbacks=[tflfuse.keras.FuseOnTrainEnd(tmp_path / "no/model.tflite", np.zeros((8, 4)))])
    assert np.array_equal(model.get_weights()[0], before)
