"""
Coqui's own trainer at work: `python -m tests.bench.trainer_coqui TASK ANSWER`.

Its `Trainer`, `GPTTrainer` and `XTTSDataset` as installed, set up as its XTTS demo does. What is
left out is all in its favour: no checks, no checkpoints, no dashboard, and an epoch never ends
while it is measured.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import soundfile
import torch
from trainer import Trainer, TrainerArgs
from trainer.logging import DummyLogger
from TTS.tts.configs.xtts_config import XttsAudioConfig
from TTS.tts.layers.xtts.trainer import dataset
from TTS.tts.layers.xtts.trainer.gpt_trainer import GPTArgs, GPTTrainer, GPTTrainerConfig

from tests.bench import trainer_clips
from tests.bench.trainer_clips import Clock, Rows
from tests.bench.trainer_task import Found, Task


def main(arguments: list[str]) -> int:
    task = Task.read(Path(arguments[0]))
    trainer_clips.refuse_network()
    dataset.load_audio = load_audio
    learn(task).write(Path(arguments[1]))
    return 0


def load_audio(path: str, rate: int) -> torch.Tensor:
    """
    Read as coqui-tts does, with the library we read with too.

    Its torchaudio.load needs ffmpeg, which is not everywhere, and starts a decoder for each file.
    """
    samples, found = soundfile.read(path, dtype="float32")
    assert found == rate
    return torch.from_numpy(samples)[None].clip_(-1, 1)


def learn(task: Task) -> Found:
    """Train for as many steps as the task says and tell how fast it was."""
    clips = trainer_clips.read(Path(task.clips))
    steps = task.epochs * -(-len(clips) // task.batch)
    random.seed(0)
    torch.manual_seed(0)
    config = _config(task, workers=task.workers)
    model = GPTTrainer(config)
    window = _Window(model, task.warm_steps, steps, task.batch)
    trainer = Trainer(
        TrainerArgs(),
        config,
        output_path=task.work,
        dashboard_logger=DummyLogger(),
        model=model,
        # It draws clips with replacement: a longer list is one long epoch, without the pauses
        # in which its loaders are started again.
        train_samples=_samples(clips, (task.warm_steps + steps) * task.batch),
        eval_samples=[],
        parse_command_line_args=False,
        callbacks={"on_train_step_end": window.step},
    )
    # Importing its dataset sets one thread for the whole process.
    torch.set_num_threads(task.threads)
    trainer._fit()  # fit() would turn an error into an exit code
    return window.found()


class _Window:
    """The steps that are measured."""

    def __init__(self, model: Any, warm: int, steps: int, batch: int) -> None:
        self._warm, self._steps, self._batch = warm, steps, batch
        self._done = 0
        self._clock = Clock(_wait_for_gpu)
        self._gpu: tuple[float, float] = (0.0, 0.0)
        self._rows = Rows(model.xtts.gpt.gpt.h[0])
        model.format_batch = self._noting(model.format_batch)

    def step(self, trainer: Any) -> None:
        self._done += 1
        if self._done == self._warm:
            self._clock.start()
            if torch.cuda.is_available():
                torch.cuda.reset_peak_memory_stats()
        if self._done == self._warm + self._steps:
            self._clock.stop()
            if torch.cuda.is_available():
                peaks = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
                self._gpu = peaks[0] / 1e6, peaks[1] / 1e6

    def found(self) -> Found:
        clips = self._steps * self._batch
        return Found(
            clips / self._clock.seconds,
            clips / self._clock.cpu_seconds,
            self._rows.padding,
            trainer_clips.host_peak_mb(),
            *self._gpu,
        )

    def _noting(self, format_batch: Any) -> Any:
        def noting(batch: dict[str, Any]) -> dict[str, Any]:
            codes = sum(trainer_clips.codes_in(each) for each in batch["wav_lengths"].tolist())
            self._rows.need(codes + int(batch["text_lengths"].sum()))
            return format_batch(batch)

        return noting


def _wait_for_gpu() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _samples(clips: list[tuple[Path, str]], count: int) -> list[dict[str, str]]:
    rows = [
        {
            "text": text,
            "audio_file": str(path),
            "language": trainer_clips.LANGUAGE,
            "speaker_name": trainer_clips.SPEAKER,
        }
        for path, text in clips
    ]
    return [rows[number % len(rows)] for number in range(count)]


def _config(task: Task, workers: int) -> GPTTrainerConfig:
    """What the demo's gpt_train.py sets, with this base's sizes."""
    base = Path(task.base)
    shape = json.loads((base / "config.json").read_text())["model_args"]
    known = {name: shape[name] for name in GPTArgs.__dataclass_fields__ if name in shape}
    args = GPTArgs(
        **{
            **known,
            "max_conditioning_length": 132300,
            "min_conditioning_length": 66150,
            "max_wav_length": 255995,
            "max_text_length": 200,
            "mel_norm_file": str(base / "mel_stats.pth"),
            "dvae_checkpoint": str(base / "dvae.pth"),
            "xtts_checkpoint": str(base / "model.pth"),
            "tokenizer_file": str(base / "vocab.json"),
            "gpt_use_masking_gt_prompt_approach": True,
            "gpt_use_perceiver_resampler": True,
        }
    )
    never = 10**9
    return GPTTrainerConfig(
        model_args=args,
        audio=XttsAudioConfig(sample_rate=22050, dvae_sample_rate=22050, output_sample_rate=24000),
        epochs=1,
        batch_size=task.batch,
        eval_batch_size=task.batch,
        num_loader_workers=workers,
        mixed_precision=task.mixed,
        optimizer="AdamW",
        optimizer_wd_only_on_weights=True,
        optimizer_params={"betas": [0.9, 0.96], "eps": 1e-8, "weight_decay": 1e-2},
        lr=task.rate,
        lr_scheduler="MultiStepLR",
        lr_scheduler_params={"milestones": [50000 * 18], "gamma": 0.5, "last_epoch": -1},
        run_eval=False,
        test_delay_epochs=never,
        save_checkpoints=False,
        save_best_after=never,
        print_step=50,
        plot_step=never,
        log_model_step=never,
        test_sentences=[],
        languages=[trainer_clips.LANGUAGE],
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
