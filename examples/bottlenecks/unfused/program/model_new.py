import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.affine(x, y, x.numel())
        cuda_extension.relu(y, x.numel())
        cuda_extension.square(y, x.numel())
        cuda_extension.subtract(x, y, x.numel())
        return y
