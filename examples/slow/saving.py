"""A training that saves its weights in each step. Fixed: in each 25th."""
import os
import tempfile

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import clock

options = clock.arguments()
loader = DataLoader(TensorDataset(torch.randn(4096, 64), torch.randint(10, (4096,))), batch_size=32)
net = clock.model(1024)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
with tempfile.TemporaryDirectory() as folder:
    for step, (images, labels) in clock.timed(loader, net, options):
        optimizer.zero_grad()
        loss = functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        if step % 25 == 0 or not options.fixed:
            torch.save(net.state_dict(), os.path.join(folder, "weights.pt"))
print(f"loss {loss.item():.6f}")
