"""A data set that transforms each sample anew, in many small operations. Fixed: it does so once, before the training."""
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

import clock

options = clock.arguments()


def augmented(image):
    for _ in range(40):
        image = image * 1.0001
    return image


class Images(Dataset):
    def __init__(self):
        self.images, self.labels = torch.randn(2048, 64), torch.randint(10, (2048,))
        if options.fixed:
            self.images = augmented(self.images)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        return image if options.fixed else augmented(image), self.labels[index]


net = clock.model(768)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for _, (images, labels) in clock.timed(DataLoader(Images(), batch_size=32), net, options):
    optimizer.zero_grad()
    loss = functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.6f}")
