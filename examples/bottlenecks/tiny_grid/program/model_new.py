import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        y = torch.empty_like(a)
        cuda_extension.add(a, b, y, a.numel())
        return y
