"""Every name of GE's Python API: it is there, and takes the parameters that GE gives it."""

import importlib
import inspect
from enum import Enum, IntEnum

import pytest

TABLE = """
ge.passes PassStage -
ge.passes FusionBasePass ()
ge.passes FusionBasePass.run (graph, context)
ge.passes PatternFusionPass (matcher_config=None)
ge.passes PatternFusionPass.matcher_config property
ge.passes PatternFusionPass.patterns ()
ge.passes PatternFusionPass.meet_requirements (match_result, context=None)
ge.passes PatternFusionPass.replacement (match_result, context=None)
ge.passes DecomposePass ()
ge.passes DecomposePass.op_types -
ge.passes DecomposePass.meet_requirements (node, context=None)
ge.passes DecomposePass.replacement (node, context=None)
ge.passes pattern (method)
ge.passes register_fusion_pass (*, name, stage, kind=None)
ge.passes register_decompose_pass (*, name, stage, op_types)
ge.passes clear_registered_passes ()
ge.passes get_registered_passes ()
ge.passes get_registered_pass_dicts ()
ge.passes get_registered_pass_by_descriptor_key (key)
ge.passes.registry PassDescriptor (descriptor_key, pass_name, module_name, class_name, stage,
    kind, cls, op_types=...)
ge.passes.registry PassDescriptor.to_bridge_dict ()
ge.passes.registry PASS_KIND_FUSION_BASE -
ge.passes.registry PASS_KIND_PATTERN_FUSION -
ge.passes.registry PASS_KIND_DECOMPOSE -
ge.passes PassContext.get_pass_name ()
ge.passes PassContext.set_pass_name (name)
ge.passes PassContext.get_error_message ()
ge.passes PassContext.set_error_message (message)
ge.passes PassContext.get_option_value (key)
ge.passes Pattern (graph)
ge.passes Pattern.capture_tensor (source, index=None)
ge.passes Pattern.get_captured_tensors ()
ge.passes Pattern.is_valid ()
ge.passes Pattern.release ()
ge.passes create_pattern (graph)
ge.passes create_replacement (graph)
ge.passes NodeIo (node, index=0)
ge.passes MatchResult.get_matched_nodes ()
ge.passes MatchResult.get_captured_tensor (capture_index)
ge.passes MatchResult.get_pattern_graph_name ()
ge.passes MatchResult.__str__ ()
ge.passes MatchResult._invalidate ()
ge.passes PatternMatcherConfig.is_enable_const_value_match ()
ge.passes PatternMatcherConfig.is_enable_ir_attr_match ()
ge.passes PatternMatcherConfigBuilder ()
ge.passes PatternMatcherConfigBuilder.enable_const_value_match ()
ge.passes PatternMatcherConfigBuilder.enable_ir_attr_match ()
ge.passes PatternMatcherConfigBuilder.build ()
ge.passes SubgraphInput (node_inputs=...)
ge.passes SubgraphInput.add_input (node, out_index)
ge.passes SubgraphOutput (node=None, out_index=0)
ge.passes SubgraphOutput.set_output (node, out_index)
ge.passes SubgraphBoundary ()
ge.passes SubgraphBoundary.add_input (index, input)
ge.passes SubgraphBoundary.add_output (index, output)
ge.passes SubgraphRewriter.replace (boundary, replacement, *, context=None)
ge.passes FuseCheckResult (ok, reason='')
ge.passes can_fuse (nodes)
ge.passes report_fuse (nodes_before, nodes_after, context)
ge.passes infer_shape (replacement, source)
ge.passes.bootstrap ENV_PY_PASS_PATH -
ge.passes.bootstrap load_pass_plugins ()
ge.passes.bootstrap get_registered_passes ()
ge.passes.pattern PatternInputs (builder)
ge.passes.pattern PatternInputs.__getitem__ (index)
ge.passes.pattern PatternInputs.created ()
ge.passes.pattern ensure_pattern (value)
ge.passes.pattern NodeIo (node, index=0)
ge.passes.base StatusLike -
ge.passes.base PatternOrGraph -
ge.passes._bridge load_and_get_pass_descriptors ()
ge.passes._bridge create_pass_holder (instance_id, descriptor_key)
ge.passes._bridge destroy_pass_holder (instance_id)
ge.passes._bridge run_fusion_base_pass (instance_id, graph, context=None)
ge.passes._bridge get_pass_patterns (instance_id)
ge.passes._bridge get_pattern_matcher_config (instance_id)
ge.passes._bridge call_meet_requirements (instance_id, handle, context=None)
ge.passes._bridge call_replacement (instance_id, handle, context=None)
ge.passes._bridge call_decompose_meet_requirements (instance_id, handle, context=None)
ge.passes._bridge call_decompose_replacement (instance_id, handle, context=None)
ge.passes._bridge clear_pass_holders ()
ge.passes._bridge clear_loaded_pass_modules ()
ge.passes._bridge borrow_match_result (handle)
ge.passes._bridge borrow_node (handle)
ge.passes._bridge release_graph (graph)
ge.graph.types DataType -
ge.graph.types Format -
ge.graph.types Placement -
ge.graph.types AttrValueType -
ge.graph DumpFormat -
ge.graph Shape (dims=None)
ge.graph Shape.get_shape_size ()
ge.graph Shape.is_unknown_shape ()
ge.graph TensorDesc (shape=None, format=FORMAT_ND, data_type=DT_FLOAT)
ge.graph TensorDesc.get_shape ()
ge.graph TensorDesc.set_shape (shape)
ge.graph TensorDesc.get_origin_shape ()
ge.graph TensorDesc.set_origin_shape (shape)
ge.graph TensorDesc.get_format ()
ge.graph TensorDesc.set_format (format)
ge.graph TensorDesc.get_origin_format ()
ge.graph TensorDesc.set_origin_format (format)
ge.graph TensorDesc.get_data_type ()
ge.graph TensorDesc.set_data_type (data_type)
ge.graph TensorDesc.shape property
ge.graph TensorDesc.origin_shape property
ge.graph TensorDesc.format property
ge.graph TensorDesc.origin_format property
ge.graph TensorDesc.data_type property
ge.graph Tensor (data=None, file_path=None, data_type=DT_FLOAT, format=FORMAT_ND,
    shape=None, placement=PLACEMENT_HOST)
ge.graph Tensor.get_format ()
ge.graph Tensor.set_format (format)
ge.graph Tensor.get_data_type ()
ge.graph Tensor.set_data_type (data_type)
ge.graph Tensor.get_shape ()
ge.graph Tensor.get_data ()
ge.graph Tensor.get_tensor_desc ()
ge.graph Tensor.get_placement ()
ge.graph Tensor.to_host ()
ge.graph Tensor.to_device ()
ge.graph Tensor.format property
ge.graph Tensor.data_type property
ge.graph Tensor.shape property
ge.graph Tensor.data property
ge.graph Tensor.placement property
ge.graph Tensor._transfer_ownership_when_pass_as_attr (builder)
ge.graph Graph (name='graph')
ge.graph Graph.name property
ge.graph Graph.get_all_nodes ()
ge.graph Graph.get_direct_nodes ()
ge.graph Graph.get_attr (key)
ge.graph Graph.set_attr (key, value)
ge.graph Graph.find_node_by_name (name)
ge.graph Graph.remove_node (node)
ge.graph Graph.add_data_edge (src_node, src_port_index, dst_node, dst_port_index)
ge.graph Graph.remove_edge (src_node, src_port_index, dst_node, dst_port_index)
ge.graph Graph.add_control_edge (src_node, dst_node)
ge.graph Graph.get_all_subgraphs ()
ge.graph Graph.get_subgraph (name)
ge.graph Graph.add_subgraph (subgraph)
ge.graph Graph.remove_subgraph (name)
ge.graph Graph.dump_to_file (format=kReadable, suffix='')
ge.graph Graph.dump_to_stream (format=kReadable)
ge.graph Graph.save_to_air (file_path)
ge.graph Graph.load_from_air (file_path)
ge.graph Graph._create_from (handle, owns_handle=True, owner=None)
ge.graph Graph._transfer_ownership_when_pass_as_subgraph (builder)
ge.graph Node.name property
ge.graph Node.type property
ge.graph Node.get_inputs_size ()
ge.graph Node.get_outputs_size ()
ge.graph Node.get_in_data_nodes_and_port_indexes (in_index)
ge.graph Node.get_out_data_nodes_and_port_indexes (out_index)
ge.graph Node.get_in_control_nodes ()
ge.graph Node.get_out_control_nodes ()
ge.graph Node.has_attr (attr_name)
ge.graph Node.get_attr (key)
ge.graph Node.set_attr (key, value)
ge.graph Node.get_input_attr (attr_name, input_index)
ge.graph Node.set_input_attr (attr_name, input_index, value)
ge.graph Node.get_output_attr (attr_name, output_index)
ge.graph Node.set_output_attr (attr_name, output_index, value)
ge.graph Node.get_input_desc (index)
ge.graph Node.get_output_desc (index)
ge.graph Node.update_input_desc (index, tensor_desc)
ge.graph Node.update_output_desc (index, tensor_desc)
ge.graph Operator.name property
ge.graph Operator.type property
ge.graph Operator.set_attr (key, value)
ge.graph Operator.register_input (name)
ge.graph Operator.register_optional_input (name)
ge.graph Operator.register_output (name)
ge.graph Operator.register_dynamic_input (name, count)
ge.graph Operator.register_dynamic_output (name, count)
ge.graph.tensor_desc UNKNOWN_DIM -
ge.graph.tensor_desc UNKNOWN_DIM_NUM -
ge.graph.tensor_desc UNKNOWN_DIM_SIZE -
ge.es GraphBuilder (name=None)
ge.es GraphBuilder.name property
ge.es GraphBuilder.create_input (index, *, name=None, type_str=DATA, data_type=DT_FLOAT,
    format=FORMAT_ND, shape=None)
ge.es GraphBuilder.create_inputs (num, start_index=0)
ge.es GraphBuilder.create_const_int64 (value, shape=None)
ge.es GraphBuilder.create_const_int32 (value, shape=None)
ge.es GraphBuilder.create_const_uint64 (value, shape=None)
ge.es GraphBuilder.create_const_uint32 (value, shape=None)
ge.es GraphBuilder.create_const_float (value, shape=None)
ge.es GraphBuilder.create_vector_int64 (value)
ge.es GraphBuilder.create_scalar_int64 (value)
ge.es GraphBuilder.create_scalar_int32 (value)
ge.es GraphBuilder.create_scalar_uint64 (value)
ge.es GraphBuilder.create_scalar_uint32 (value)
ge.es GraphBuilder.create_scalar_float (value)
ge.es GraphBuilder.create_variable (index, name)
ge.es GraphBuilder.set_graph_output (tensor, output_index)
ge.es GraphBuilder.set_graph_attr_int64 (attr_name, value)
ge.es GraphBuilder.set_graph_attr_string (attr_name, value)
ge.es GraphBuilder.set_graph_attr_bool (attr_name, value)
ge.es GraphBuilder.set_tensor_attr_int64 (tensor, attr_name, value)
ge.es GraphBuilder.set_tensor_attr_string (tensor, attr_name, value)
ge.es GraphBuilder.set_tensor_attr_bool (tensor, attr_name, value)
ge.es GraphBuilder.set_node_attr_int64 (tensor, attr_name, value)
ge.es GraphBuilder.set_node_attr_string (tensor, attr_name, value)
ge.es GraphBuilder.set_node_attr_bool (tensor, attr_name, value)
ge.es GraphBuilder.add_control_dependency (dst_tensor, src_tensors)
ge.es GraphBuilder.build_and_reset (outputs=None)
ge.es TensorHolder.name property
ge.es TensorHolder.set_data_type (data_type)
ge.es TensorHolder.set_format (format)
ge.es TensorHolder.set_shape (shape)
ge.es TensorHolder.add (other)
ge.es TensorHolder.sub (other)
ge.es TensorHolder.mul (other)
ge.es TensorHolder.div (other)
ge.es TensorHolder.get_owner_builder ()
ge.es TensorHolder._get_node_snapshot ()
ge.es.graph_builder InputType -
ge.es.graph_builder attr_scope (attr_maps)
ge.es.graph_builder control_dependency_scope (tensors)
ge.es.graph_builder TensorHolder -
ge.es.graph_builder DataType -
ge.es.graph_builder Format -
ge.es.graph_builder Graph -
ge.es.tensor_holder TensorHolder -
ge.es.tensor_like Number -
ge.es.tensor_like TensorLike -
ge.es.tensor_like convert_to_tensor_holder (value, owner_builder)
ge.es.tensor_like resolve_builder (*values)
ge.es.tensor_like _flatten_and_infer_shape (value)
ge.es.tensor_like _unflatten (flat, shape)
ge.es._plugin_loader entry_points -
ge.es._plugin_loader _iter_plugin_entry_points ()
ge.es._plugin_loader _coerce_to_module (obj, plugin_name)
ge.es._plugin_loader load_all_plugins ()
ge.es._plugin_loader debug_print (level, message, *args)
ge.es list_plugins ()
ge.es get_plugin (plugin_name)
ge.es.all BatchNormOutput -
ge.error GeError (message, error_message=None, api_name=None, context=None)
ge.error get_ge_error_msg ()
ge.error raise_ge_error (api_name, status=None, **context)
ge.utils GeUtils.infer_shape (graph, input_shapes)
ge.utils GeUtils.check_node_support_on_aicore (node)
ge.ge_global GeApi.ge_initialize (config)
ge.ge_global GeApi.ge_finalize ()
ge.session Session (options=None)
ge.session Session.add_graph (graph_id, add_graph, options=None)
ge.session Session.remove_graph (graph_id)
ge.session Session.run_graph (graph_id, inputs)
ge.session Session.run_graph_with_stream_async (graph_id, stream, inputs)
ge.session Session.register_external_allocator (stream, allocator)
ge.session Session.unregister_external_allocator (stream)
ge.session GeError -
ge.allocator MemBlock (addr, size)
ge.allocator Allocator.malloc (size)
ge.allocator Allocator.free (block)
ge.offline_compile build_initialize (global_options=None)
ge.offline_compile build_finalize ()
ge.offline_compile build_model (graph, build_options=None)
ge.offline_compile save_model (output_file, model)
ge.offline_compile bundle_build_model (graph_with_options)
ge.offline_compile bundle_save_model (output_file, model)
ge.offline_compile GraphWithOptions (graph, build_options=...)
ge.offline_compile ModelBuffer.get_length ()
ge.offline_compile ModelBuffer.length property
ge.pyatc.__main__ main (cmdline_argv0=None, args=None)
ge.custom_op register_op_impl (*, op_type)
ge.custom_op register_op (*, op_type, mutates_args=())
ge.custom_op get_registered_op_impls ()
ge.custom_op get_registered_op_impl_dicts ()
ge.custom_op get_registered_op_impl_by_descriptor_key (key)
ge.custom_op clear_registered_op_impls ()
ge.custom_op get_execute_ctx ()
ge.custom_op get_declare_launch_args_ctx ()
ge.custom_op BaseCustomOp -
ge.custom_op EagerExecuteOp -
ge.custom_op EagerOpExecutionContext -
ge.custom_op AnnotatedArgsContext -
ge.custom_op AnnotatedKernelArgs -
ge.custom_op AnnotatedKernelLaunchInfo -
ge.custom_op WorkspaceAddr -
ge.onnx_plugin onnx_plugin (*, source, domain, opsets, target)
ge.onnx_plugin OnnxPlugin.parse_node (function)
ge.onnx_plugin OnnxNode -
ge.runtime Tensor -
ge.runtime TensorDesc -
ge.runtime Shape -
"""
ROWS = [line.split(" ", 2) for line in TABLE.strip().replace("\n    ", " ").splitlines()]


def look_up(module, path):
    """The object, and the class that it is a member of."""
    found, owner = importlib.import_module(module), None
    for name in path.split("."):
        owner, found = found, inspect.getattr_static(found, name) if owner else getattr(found, name)
    return found, owner if inspect.isclass(owner) else None


def text_of(value):
    if isinstance(value, IntEnum | Enum):
        return value.name
    if value is None or (isinstance(value, str | int | tuple) and value != ()):
        return repr(value)
    return "..."


def signature_of(found, owner):
    """Parameters without self and annotations; defaults that are objects read `...`."""
    is_static = isinstance(found, staticmethod)
    is_class = isinstance(found, classmethod)
    function = found.__func__ if is_static or is_class else found
    parameters = list(inspect.signature(function).parameters.values())
    if owner is not None and not is_static:
        parameters = parameters[1:]
    parts = []
    starred = False
    for parameter in parameters:
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(
            parameter.kind, ""
        )
        starred = starred or prefix == "*"
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        default = "" if parameter.default is parameter.empty else f"={text_of(parameter.default)}"
        parts.append(f"{prefix}{parameter.name}{default}")
    return f"({', '.join(parts)})"


@pytest.mark.parametrize(("module", "path", "wanted"), ROWS, ids=[f"{m}.{p}" for m, p, _ in ROWS])
def test_row(module, path, wanted):
    found, owner = look_up(module, path)
    if wanted == "-":
        assert found is not None or path.endswith("op_types")
    elif wanted == "property":
        assert isinstance(found, property)
    else:
        assert signature_of(found, owner) == wanted.replace("=()", "=...")


NO_CONSTRUCTOR = [
    ("ge.passes", "PassContext", TypeError),
    ("ge.passes", "MatchResult", TypeError),
    ("ge.passes", "PatternMatcherConfig", TypeError),
    ("ge.passes", "SubgraphRewriter", TypeError),
    ("ge.graph", "Node", RuntimeError),
    ("ge.graph", "Operator", RuntimeError),
    ("ge.es", "TensorHolder", RuntimeError),
]


@pytest.mark.parametrize(("module", "name", "error"), NO_CONSTRUCTOR)
def test_classes_without_a_constructor(module, name, error):
    with pytest.raises(
        error, match=name if error is TypeError else "should not be created directly"
    ):
        getattr(importlib.import_module(module), name)()


VALUES = [
    ("ge.graph.types", "DataType", {"DT_FLOAT": 0, "DT_BOOL": 12, "DT_BF16": 27, "DT_MAX": 43}),
    ("ge.graph.types", "Format", {"FORMAT_NCHW": 0, "FORMAT_FRACTAL_NZ": 29, "FORMAT_MAX": 53}),
    ("ge.graph.types", "Placement", {"PLACEMENT_HOST": 0, "PLACEMENT_DEVICE": 1}),
    ("ge.graph.types", "AttrValueType", {"VT_NONE": 0, "VT_TENSOR": 6, "VT_LIST_DATA_TYPE": 1011}),
    ("ge.graph", "DumpFormat", {"kOnnx": 0, "kTxt": 1, "kReadable": 2}),
    ("ge.es.graph_builder", "InputType", {"DATA": "Data", "ANY_DATA": "AnyData"}),
]


@pytest.mark.parametrize(("module", "name", "members"), VALUES, ids=[n for _, n, _ in VALUES])
def test_enumerations(module, name, members):
    enum = getattr(importlib.import_module(module), name)
    assert {member: enum[member].value for member in members} == members


def test_what_is_not_exported():
    for line in (
        "from ge.es import InputType",
        "from ge.graph.types import TensorDesc",
        "from ge.passes import PassDescriptor",
        "from ge.pyatc import main",
    ):
        with pytest.raises(ImportError):
            exec(line)
    assert sorted(importlib.import_module("ge.graph").__all__) == [
        "DataType", "DumpFormat", "Format", "Graph", "Node", "Operator", "Placement", "Shape",
        "Tensor", "TensorDesc",
    ]  # fmt: skip
