"""The int8 form of a model: weights by channel, and activations by token, so that no text changes another's vector.

onnxruntime's own dynamic quantization has one scale for all activations of a batch: there a text's vector depends on
the texts beside it (cosine .984). Here each token has its own, as each row of the embeddings and each column of a
matrix has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEVELS = 127
_MATRIX_LEVELS = 63  # AVX2 adds two products of bytes in 16 bits, where larger ones would saturate
_REDUCES_BY_INPUT = 18  # the version of ONNX from which on ReduceMax takes its axes as an input


def quantize(source: Path, target: Path) -> None:
    """Write the int8 form of the float32 model in a file."""
    import onnx
    from onnx import TensorProto, numpy_helper
    from onnx.helper import make_node

    model = onnx.load(str(source))
    graph = model.graph
    version = next(each.version for each in model.opset_import if each.domain in ("", "ai.onnx"))
    given: dict[str, Any] = {one.name: one for one in graph.initializer}
    nodes: list[Any] = []
    by_token: set[str] = set()

    def constant(name: str, value: Any) -> str:
        graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    levels, least = constant("int8_levels", np.float32(_LEVELS)), constant("int8_least", np.float32(1e-12))
    shift, zero = constant("int8_shift", np.float32(128)), constant("int8_zero", np.uint8(128))
    axes = [constant("int8_axes", np.array([-1], np.int64))] if version >= _REDUCES_BY_INPUT else []

    def scaled(name: str) -> str:
        """The prefix of a tensor's scales, one a token (…_scale), and of its values by these (…_codes)."""
        if name not in by_token:
            by_token.add(name)
            reduced: dict[str, Any] = {} if axes else {"axes": [-1]}
            nodes.extend([
                make_node("Abs", [name], [f"{name}_abs"]),
                make_node("ReduceMax", [f"{name}_abs", *axes], [f"{name}_max"], keepdims=1, **reduced),
                make_node("Div", [f"{name}_max", levels], [f"{name}_step"]),
                make_node("Max", [f"{name}_step", least], [f"{name}_scale"]),
                make_node("Div", [name, f"{name}_scale"], [f"{name}_steps"]),
                make_node("Round", [f"{name}_steps"], [f"{name}_rounded"]),
                make_node("Add", [f"{name}_rounded", shift], [f"{name}_shifted"]),
                make_node("Cast", [f"{name}_shifted"], [f"{name}_codes"], to=TensorProto.UINT8),
            ])  # fmt: skip
        return name

    def weights(node: Any, at: int) -> NDArray[np.float32] | None:
        """The matrix that is an input of a node, if it is one and float32."""
        tensor = given.get(node.input[at])
        fits = tensor is not None and len(tensor.dims) == 2 and tensor.data_type == TensorProto.FLOAT
        return numpy_helper.to_array(tensor) if tensor is not None and fits else None

    for number, node in enumerate(list(graph.node)):
        name, out = f"int8_{number}", node.output[0]
        if node.op_type == "MatMul" and (matrix := weights(node, 1)) is not None:
            codes, scales = _codes(matrix, 0, _MATRIX_LEVELS)
            asked = scaled(node.input[0])
            nodes += [
                make_node("MatMulInteger", [f"{asked}_codes", constant(f"{name}_w", codes), zero], [f"{name}_sum"]),
                make_node("Cast", [f"{name}_sum"], [f"{name}_float"], to=TensorProto.FLOAT),
                make_node("Mul", [f"{name}_float", f"{asked}_scale"], [f"{name}_by_token"]),
                make_node("Mul", [f"{name}_by_token", constant(f"{name}_s", scales[0])], [out]),
            ]
        elif (
            node.op_type == "Gather"
            and not any(one.i for one in node.attribute)
            and (matrix := weights(node, 0)) is not None
        ):
            codes, scales = _codes(matrix, 1, _LEVELS)
            nodes += [
                make_node("Gather", [constant(f"{name}_w", codes), node.input[1]], [f"{name}_codes"]),
                make_node("Gather", [constant(f"{name}_s", scales), node.input[1]], [f"{name}_scale"]),
                make_node("Cast", [f"{name}_codes"], [f"{name}_float"], to=TensorProto.FLOAT),
                make_node("Mul", [f"{name}_float", f"{name}_scale"], [out]),
            ]
        else:
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    kept = [one for one in graph.initializer if one.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept)
    onnx.save(model, str(target))


def _codes(matrix: NDArray[np.float32], axis: int, levels: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantise a matrix to int8 steps from -levels to levels; the codes, and a step for each index of the kept axis."""
    scales = np.maximum(np.abs(matrix).max(axis=axis, keepdims=True) / levels, 1e-12).astype(np.float32)
    return np.round(matrix / scales).astype(np.int8), scales
