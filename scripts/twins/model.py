"""The model of all twins: a transformer encoder that classifies sequences of vectors."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def gelu(x, unfused):
    """The same function, as one operator or as eight."""
    if not unfused:
        return F.gelu(x, approximate="tanh")
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def attention(q, k, v, naive):
    """With the scores in memory, or without."""
    if not naive:
        return F.scaled_dot_product_attention(q, k, v)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ v


class WideLinear(nn.Linear):
    """The same layer, whose product is in fp64."""

    def forward(self, x):
        return F.linear(x.double(), self.weight.double()).to(x.dtype) + self.bias


class Block(nn.Module):
    def __init__(self, settings):
        super().__init__()
        width = settings.width
        self.settings = settings
        linear = WideLinear if settings.linear == "fp64" else nn.Linear
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = linear(width, 3 * width), linear(width, width)
        self.expand, self.contract = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x):
        samples, tokens, width = x.shape
        heads = self.qkv(self.norm1(x)).view(samples, tokens, 3, self.settings.head_count, -1).permute(2, 0, 3, 1, 4)
        if self.settings.heads == "copied":
            heads = heads.contiguous()
        mixed = attention(*heads, naive=self.settings.attention == "naive")
        x = x + self.project(mixed.transpose(1, 2).reshape(samples, tokens, width))
        return x + self.contract(gelu(self.expand(self.norm2(x)), self.settings.elementwise == "unfused"))


class Model(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(settings) for _ in range(settings.blocks)))
        self.head = nn.Linear(settings.width, settings.classes)

    def forward(self, x):
        return self.head(self.blocks(x).mean(dim=1))
