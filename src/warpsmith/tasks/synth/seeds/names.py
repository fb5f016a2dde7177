"""What torch's names tell before anything is called."""

import re

from warpsmith.tasks.synth.seeds.outcome import Reason

TELLING: dict[Reason, tuple[str, ...]] = {
    Reason.QUANTISED: (
        r"(.*_)?quantiz\w*|q_\w+|fbgemm_\w+|fake_quant\w*|int_repr|dequantize|choose_qparams\w*",
        r"fused_moving_avg\w*|scaled_\w*mm",
    ),
    Reason.SPARSE: (
        r"sparse\w*|(c?crow|c?col|row)_indices\w*|indices_copy|values_copy",
        r"hspmm|s?spmm|sspaddmm|smm|dsmm|hsmm|saddmm",
    ),
    Reason.RANDOM: (
        r"(.*_)?dropout\d?d?|(feature_)?alpha_dropout|rand\w*|bernoulli|binomial|poisson|multinomial|normal",
        r"fractional_max_pool\w*|rrelu|gumbel_softmax|\w+_lowrank|lobpcg",
        r"Alpha\w+|Feature\w+|Dropout\dd|Dropout|Fractional\w+|RReLU",
        r"scatter|put|index_copy",  # of several writes to a place, any may win
    ),
    Reason.INTERNAL: (
        r"(miopen|mkldnn|cudnn|native|batch_norm|unsafe|sym)_\w+|hash_tensor|\w+_copy|slice_inverse|is_\w+",
        r"(lstm|gru|rnn_tanh|rnn_relu)(_cell)?|grid_sampler\w*|multi_head_attention_forward|convolution",
        r"affine_grid_generator|DataParallel|SyncBatchNorm|autocast|get_device|boolean_dispatch|assert_\w+",
        r"Callable|Optional|has_torch_function\w*|handle_torch_function",
    ),
    Reason.CONTAINER: (
        r"Module|ModuleDict|ModuleList|ParameterDict|ParameterList|Sequential|Container|RNNBase|RNNCellBase",
    ),
    Reason.ALIAS: (r"Lazy\w+",),  # of what they become when they are first called
    Reason.DEPRECATED: (r"NLLLoss2d|upsample(_\w+)?|segment_reduce",),
    Reason.FACTORY: (r"empty_like|full_like|ones_like|zeros_like",),
}
"""Patterns of last names that say enough."""

UNDOCUMENTED = re.compile(
    r"torch\.(\w+_loss|kl_div|binary_cross_entropy_with_logits|embedding_bag|(group|instance|batch|layer)_norm)"
)
"""What lies under torch.nn.functional, and is reachable under torch too."""

SECONDARY = re.compile(
    r"torch\.(arc\w+|absolute|clip|concat|concatenate|divide|true_divide|multiply|negative|subtract|fix|ger|fmax|"
    r"fmin|vdot|nan\w+|row_stack|moveaxis|swap\w+|inverse|pinverse|adjoint|norm|mode|aminmax|ravel|sgn)|"
    r"torch\.linalg\.(matmul|diagonal|norm|ldl_solve|tensorinv)"
)
"""Names that are the less usual one of several."""


def reason_by_name(name: str) -> Reason | None:
    """Why a full name is no seed, as far as it tells by itself."""
    if UNDOCUMENTED.fullmatch(name):
        return Reason.INTERNAL
    last = name.rpartition(".")[2]
    found = (
        reason for reason, patterns in TELLING.items() if any(re.fullmatch(one, last) for one in patterns)
    )
    return next(found, None)
