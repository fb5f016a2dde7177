"""Training in this process, on the CPU or one GPU.

`student` is the model, `lora` lets it learn by an adapter; `actor`, `critic` and `reference` are what is
computed with it, `descent` an optimiser's step; a stage each in `sft`, `valuation`, `ppo` and `grpo`; `loop`
drives them and `keeping` puts them on disk.
"""
