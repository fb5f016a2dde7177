import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        factors = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        cuda_extension.normalize(x, factors, y, x.shape[0], x.shape[1])
        return y
