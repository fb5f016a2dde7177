import cuda_extension
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty_like(a)
        cuda_extension.axpby(a, b, y, a.numel())
        return y
