"""Call patterns that introspection cannot guess, by the operator's full name."""

from warpsmith.tasks.synth.seeds.tables.convolutions import CONVOLUTIONS
from warpsmith.tasks.synth.seeds.tables.functions import FUNCTIONS
from warpsmith.tasks.synth.seeds.tables.indexing import INDEXING
from warpsmith.tasks.synth.seeds.tables.layers import LAYERS
from warpsmith.tasks.synth.seeds.tables.losses import LOSSES
from warpsmith.tasks.synth.seeds.tables.matrices import MATRICES
from warpsmith.tasks.synth.seeds.tables.row import Row

ROWS: dict[str, Row] = {**CONVOLUTIONS, **FUNCTIONS, **INDEXING, **LAYERS, **LOSSES, **MATRICES}
