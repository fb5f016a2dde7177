import cuda_extension
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(cols))

    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.rmsnorm(x, self.weight, y, x.shape[0], x.shape[1], 1e-6)
        return y
