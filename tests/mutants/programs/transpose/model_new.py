import cuda_extension
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[1], x.shape[0], device=x.device, dtype=x.dtype)
        cuda_extension.transpose(x, y, x.shape[0], x.shape[1])
        return y
