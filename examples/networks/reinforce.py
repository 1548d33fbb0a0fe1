"""A policy learns to balance a pole on a cart: 64 at once, simulated and trained in one step."""

import wgsl_kernels as wk

CARTS, LENGTH = 64, 100
Carry = tuple[wk.Tensor, wk.Tensor]


def pushed(state: wk.Tensor, action: wk.Tensor) -> wk.Tensor:
    """Return place, speed, angle and spin, [carts, 4], 0.02 s after a push to the right or left."""
    _, speed, angle, spin = wk.unstack(state, axis=1)
    force = wk.where(action == 1, 10.0, -10.0)
    cosine, sine = wk.cos(angle), wk.sin(angle)
    push = (force + 0.05 * spin**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    return state + 0.02 * wk.stack([speed, push - 0.05 * turn * cosine / 1.1, spin, turn], 1)


def main(steps: int = 20) -> None:
    """Train, and print for how many moves of 100 the poles stay upright."""
    out = wk.nn.dense(32, 2, bias=False, initializer=wk.nn.constant(0.0))
    policy = wk.nn.sequential(wk.nn.dense(4, 32), wk.tanh, out)
    adam = wk.train.Adam(2e-2)

    def move(carry: Carry, _: None) -> tuple[Carry, tuple[wk.Tensor, wk.Tensor, wk.Tensor]]:
        state, alive = carry
        action = wk.random.categorical(policy(state))
        after = pushed(state, action)
        upright = (abs(after[:, 0]) < 2.4) & (abs(after[:, 2]) < 0.2095)
        return (after, alive * upright), (state, action, alive)

    @wk.capture
    def step() -> wk.Tensor:
        start = wk.random_uniform((CARTS, 4), minval=-0.05, maxval=0.05)
        _, (states, actions, alive) = wk.scan(move, (start, wk.ones(CARTS)), length=LENGTH)
        returns = wk.cumulative_sum(alive, 0, reverse=True)
        gain = (returns - returns.mean(1, keepdims=True)) * alive / returns.std()

        def loss() -> wk.Tensor:
            return wk.sparse_softmax_cross_entropy(actions, policy(states), gain, reduction="sum")

        adam.minimize(loss, policy)
        length: wk.Tensor = alive.sum(0).mean()
        return length

    for number in range(1, steps + 1):
        print(f"step {number}  upright for {step():.1f}")
