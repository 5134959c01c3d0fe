#!/usr/bin/env python3
"""Nine more trainings that are slow on purpose, five of plain PyTorch and four of other libraries; --fixed is what an author would write.

usage: programs.py [-h] [--fixed] [--steps N] NAME

At its end each prints the mean time of a step, from the 11th on.
"""
import argparse
import atexit
import gc
import os
import statistics
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils.data import DataLoader, Dataset, TensorDataset

WARM_UP = 10
ends = []  # of optimizers' steps


def seen(*_):
    ends.append(time.perf_counter())


def show():
    steps = [1e3 * (b - a) for a, b in zip(ends[WARM_UP:], ends[WARM_UP + 1:])]
    if steps:
        print(f"step {statistics.mean(steps):.3f} ms")


def network(width=256):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def rows(count=4096):
    return TensorDataset(torch.randn(count, 64), torch.randint(10, (count,)))


class Augmented(Dataset):
    """Many small operations per sample. Fixed: all samples at once, before the training."""

    def __init__(self, fixed, count=2048):
        self.images, self.labels, self.fixed = torch.randn(count, 64), torch.randint(10, (count,)), fixed
        if fixed:
            self.images = self.augmented(self.images)

    @staticmethod
    def augmented(image):
        for _ in range(30):
            image = image * 1.0001
        return image

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        return image if self.fixed else self.augmented(image), self.labels[index]


def train(options, loader, net, optimizer, each=lambda step, losses: None):
    step = 0
    while step < options.steps:
        for x, y in loader:
            optimizer.zero_grad()
            losses = functional.cross_entropy(net(x), y, reduction="none")
            losses.mean().backward()
            optimizer.step()
            each(step, losses)
            step += 1
            if step >= options.steps:
                break


class Elementwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 512), nn.Linear(512, 10)

    def forward(self, x):
        x = self.first(x)
        for _ in range(12):
            x = x * torch.sigmoid(x) + 0.1 * torch.tanh(x)
        return self.last(x)


def elementwise(options):
    """Many element-wise operations in a row. Fixed: compiled."""
    net = Elementwise()
    if options.fixed:
        net.compile()
    train(options, DataLoader(rows(), 256), net, torch.optim.SGD(net.parameters(), 0.01))


def garbage(options):
    """Lists that hold themselves, collected in each step, among many objects. Fixed: in each 100th."""
    net = network()
    held = [[number] for number in range(200000)]

    def each(step, _):
        knot = []
        knot.append(knot)
        if not options.fixed or step % 100 == 0:
            gc.collect()

    train(options, DataLoader(rows(), 64), net, torch.optim.SGD(net.parameters(), 0.1), each)
    assert held


def log(options):
    """Prints all gradients' norms in each step. Fixed: in each 50th."""
    net = network()
    nowhere = open(os.devnull, "w")

    def each(step, losses):
        if not options.fixed or step % 50 == 0:
            print(losses, net[0].weight.grad, file=nowhere)

    train(options, DataLoader(rows(), 64), net, torch.optim.SGD(net.parameters(), 0.1), each)


def optimizer(options):
    """Adam, a parameter at a time, of which there are many. Fixed: fused."""
    net = nn.Sequential(nn.Linear(64, 32), *(nn.Linear(32, 32) for _ in range(40)), nn.Linear(32, 10))
    how = {"fused": True} if options.fixed else {"foreach": False}
    train(options, DataLoader(rows(), 64), net, torch.optim.Adam(net.parameters(), **how))


def workers(options):
    """Samples are made in the process that trains. Fixed: in another one."""
    net = network(1024)
    how = {"num_workers": 1, "persistent_workers": True} if options.fixed else {}
    train(options, DataLoader(Augmented(False), 64, **how), net, torch.optim.SGD(net.parameters(), 0.1))


def transformers(options):
    """Transformers' Trainer with a collate function that copies number by number. Fixed: it stacks."""
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    def collate(samples):
        if options.fixed:
            words = torch.stack(samples)
        else:
            words = torch.tensor([[int(word) for word in sample] for sample in samples])
        return {"input_ids": words, "labels": words}

    net = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=50, n_positions=256))
    with tempfile.TemporaryDirectory() as folder:
        Trainer(net, TrainingArguments(folder, max_steps=options.steps, per_device_train_batch_size=16, save_strategy="no",
                                       logging_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True),
                train_dataset=[torch.randint(50, (256,)) for _ in range(512)], data_collator=collate).train()


def lightning(options):
    """Lightning with a data set that transforms each sample anew."""
    import lightning as library

    class Module(library.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = network()

        def training_step(self, batch, _):
            return functional.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    library.Trainer(max_steps=options.steps, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False).fit(
                        Module(), DataLoader(Augmented(options.fixed), 32))


def geometric(options):
    """torch_geometric with a transform per sample. Fixed: the transform's results are kept."""
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader as GraphLoader
    from torch_geometric.nn import GCNConv, global_mean_pool

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = GCNConv(16, 32), nn.Linear(32, 4)

        def forward(self, graph):
            hidden = self.first(graph.x, graph.edge_index).relu()
            return self.last(global_mean_pool(hidden, graph.batch))

    class Graphs(Dataset):
        def __init__(self):
            self.graphs = [Data(x=torch.randn(20, 16), edge_index=torch.randint(20, (2, 60)), y=torch.tensor([n % 4]))
                           for n in range(512)]
            if options.fixed:
                self.graphs = [self.transformed(graph) for graph in self.graphs]

        @staticmethod
        def transformed(graph):
            return Data(x=Augmented.augmented(graph.x), edge_index=graph.edge_index, y=graph.y)

        def __len__(self):
            return len(self.graphs)

        def __getitem__(self, index):
            return self.graphs[index] if options.fixed else self.transformed(self.graphs[index])

    net, graphs, step = Net(), Graphs(), 0
    adam = torch.optim.Adam(net.parameters())
    while step < options.steps:
        for graph in GraphLoader(graphs, batch_size=32):
            adam.zero_grad()
            functional.cross_entropy(net(graph), graph.y).backward()
            adam.step()
            step += 1


def skorch(options):
    """skorch with a data set that transforms each sample anew."""
    from skorch import NeuralNetClassifier

    data = Augmented(options.fixed)
    NeuralNetClassifier(network(), criterion=nn.CrossEntropyLoss, lr=0.1, batch_size=32, train_split=None, verbose=0,
                        max_epochs=1 + options.steps * 32 // len(data)).fit(data, data.labels)


PROGRAMS = [elementwise, garbage, log, optimizer, workers, transformers, lightning, geometric, skorch]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixed", action="store_true", help="without the fault")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("name", choices=[each.__name__ for each in PROGRAMS])
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    register_optimizer_step_post_hook(seen)
    atexit.register(show)
    next(each for each in PROGRAMS if each.__name__ == options.name)(options)


if __name__ == "__main__":
    sys.exit(main())
