"""What torch's operators do, by name, as far as a candidate's forward is concerned."""

from enum import Enum, auto

from warpsmith.judge.names import names


class Kind(Enum):
    """What one may be used for."""

    FREE = auto()  # makes, views, copies or casts
    LIBRARY = auto()  # a matrix product or a convolution
    COMPUTE = auto()  # any other arithmetic


# They make memory, copy it or read one number of it.
FREE = names(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros zeros_like new_zeros "
    "zero_ ones ones_like new_ones full full_like new_full fill_ arange scalar_tensor clone copy_ _to_copy "
    "_unsafe_view _reshape_alias resize_ set_ record_stream is_pinned _pin_memory pin_memory lift "
    "lift_fresh lift_fresh_copy detach detach_ alias _local_scalar_dense cat stack constant_pad_nd repeat "
    "_assert_async _has_compatible_shallow_copy_type unsafe_split unsafe_split_with_sizes unsafe_chunk "
    "split_copy split_with_sizes_copy t_copy transpose_copy permute_copy expand_copy view_copy slice_copy "
    "select_copy unbind_copy squeeze_copy unsqueeze_copy tril_indices triu_indices"
)
LIBRARY = names(
    "mm addmm addmm_ bmm addbmm addbmm_ baddbmm baddbmm_ mv addmv addmv_ dot vdot matmul linear "
    "_int_mm _scaled_mm _grouped_mm _scaled_grouped_mm matmul_backward linear_backward "
    "convolution _convolution convolution_overrideable _slow_conv2d_forward slow_conv3d_forward "
    "thnn_conv2d conv_depthwise3d _conv_depthwise2d slow_conv_transpose2d slow_conv_transpose3d "
    "slow_conv_dilated2d slow_conv_dilated3d cudnn_convolution cudnn_convolution_transpose conv1d conv2d "
    "conv3d conv_transpose1d conv_transpose2d conv_transpose3d mkldnn_convolution convolution_backward"
)
# Where C++ calls them; among the operators that run they are told by what they are made of.
FREE_FROM_CPP = FREE | names(
    "view view_as reshape reshape_as permute transpose t numpy_T movedim moveaxis swapaxes swapdims expand "
    "expand_as broadcast_to broadcast_tensors slice select narrow squeeze unsqueeze flatten unflatten ravel "
    "as_strided chunk tensor_split split split_with_sizes unbind hsplit vsplit dsplit diagonal unfold "
    "view_as_real view_as_complex real imag contiguous to type_as cuda cpu item size sizes stride numel dim "
    "sym_size sym_stride sym_numel is_floating_point is_complex is_signed is_same_size is_contiguous "
    "is_conj is_neg is_inference is_leaf is_set_to requires_grad_ set_data data variable output_nr _version "
    "retain_grad retains_grad result_type can_cast promote_types concat concatenate hstack vstack dstack "
    "column_stack row_stack pad _pad_enum _pad_circular tile resolve_conj resolve_neg "
    "atleast_1d atleast_2d atleast_3d squeeze_ unsqueeze_ transpose_ t_ resize_as_ _backward"
)


def kind_from_cpp(operator: str) -> Kind:
    """Of `at::_ops::operator`, which is a name with its overload: `add_Tensor`, `fill__Scalar`."""
    parts = operator.split("_")
    bases = ["_".join(parts[:end]) for end in range(len(parts), 0, -1)]
    bases += [f"{base}_" for base in bases if operator.startswith(f"{base}__")]
    known = next((base for base in bases if base in FREE_FROM_CPP | LIBRARY), None)
    if known is None:
        return Kind.COMPUTE
    return Kind.LIBRARY if known in LIBRARY else Kind.FREE
