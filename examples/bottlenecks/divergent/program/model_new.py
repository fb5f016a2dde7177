import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.iterate(x, y, x.numel())
        return y
