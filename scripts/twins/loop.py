"""The training loop of all twins."""
import gc

import torch
import torch.nn.functional as F

import files
from data import batches
from model import Model


def run(settings, steps, device, folder, each_step):
    """Trains, logs and saves into `folder`, and calls `each_step` with the loss of every step."""
    torch.manual_seed(1)
    model, data, kept, table = Model(settings).to(device), batches(settings, device), [], []
    optimizer = torch.optim.AdamW(model.parameters(), fused=settings.optimizer == "fused", foreach=False)
    writer = files.start()

    for step in range(steps):
        for part in range(settings.accumulate):
            inputs, labels = next(data)
            with torch.autocast(device, torch.bfloat16, enabled=settings.precision == "bf16"):
                outputs = model(inputs)
                loss = F.cross_entropy(outputs, labels) / settings.accumulate
            loss.backward()
            if settings.update == "micro_batch" or part == settings.accumulate - 1:
                optimizer.step()
                optimizer.zero_grad()
        if settings.kept_loss != "none":  # of validation, whose graph no backward pass frees
            loss = F.cross_entropy(model(inputs), labels)
            kept.append(loss if settings.kept_loss == "graph" else loss.item())
        if settings.predictions != "none":
            files.record(table, outputs.tolist(), settings.predictions, f"{folder}/predictions")
        files.deliver("log", settings.log, f"{folder}/log", lambda loss=loss: str(loss.item()).encode())
        if step % settings.save_every == 0 and settings.save_mode != "none":
            state = {name: value.detach().clone() for name, value in model.state_dict().items()}
            files.deliver("save", settings.save_mode, f"{folder}/state",
                          lambda state=state: b"".join(value.cpu().numpy().tobytes() for value in state.values()))
        if step % 10 == 0 and settings.garbage != "none":
            gc.collect()
        if step == 0 and settings.garbage == "frozen":  # the data set and its index are there now
            gc.freeze()
        each_step(loss.detach())
    files.finish(writer)
