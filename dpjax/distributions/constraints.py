"""Supports of truncated distributions, with bijections from real vectors for NUTS."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float
from numpyro.distributions import biject_to, constraints
from numpyro.distributions.transforms import StickBreakingTransform, Transform

Vectors = Float[Array, "*batch k"]
Numbers = Float[Array, "*batch"]


class _OneParameter:
    """A constraint or transform that is defined by one array."""

    parameter: ClassVar[str]  # its name

    def __init__(self, value: Numbers):
        setattr(self, self.parameter, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def tree_flatten(self) -> tuple[Any, Any]:
        """Return the parameter and its name, for JAX pytrees."""
        return (getattr(self, self.parameter),), ((self.parameter,), {})

    def eq(self, other: object, static: bool = False) -> Any:
        """Return whether `other` has this type and an equal parameter."""
        if type(self) is not type(other):
            return False
        ours, theirs = (getattr(x, self.parameter) for x in (self, other))
        if ours is theirs:
            return True
        if jnp.shape(ours) != jnp.shape(theirs):
            return False
        equal = jnp.all(ours == theirs)
        return bool(equal) if static else equal


class SimplexAbove(_OneParameter, constraints.Constraint):
    """Vectors that sum to 1, with every entry at least `least`."""

    event_dim = 1

    least: Numbers
    parameter = "least"

    def __call__(self, x: Any) -> Bool[Array, "*batch"]:
        """Return whether each vector x (last axis) satisfies the constraint."""
        x = jnp.asarray(x)
        tolerance = jnp.maximum(1e-6, 4 * x.shape[-1] * jnp.finfo(x.dtype).eps)
        sums_to_one = jnp.abs(x.sum(-1) - 1) <= tolerance.astype(x.dtype)
        return sums_to_one & (x.min(-1) >= jnp.asarray(self.least, x.dtype))

    def feasible_like(self, prototype: Vectors) -> Vectors:
        """Return vectors of equal entries with sum 1, in the shape of `prototype`."""
        return jnp.full_like(prototype, 1 / prototype.shape[-1])


class Ball(_OneParameter, constraints.Constraint):
    """Vectors of Euclidean norm at most `radius`, up to rounding."""

    event_dim = 1

    radius: Numbers
    parameter = "radius"

    def __call__(self, x: Any) -> Bool[Array, "*batch"]:
        """Return whether each vector x (last axis) satisfies the constraint."""
        x = jnp.asarray(x)
        slack = 1 + 4 * jnp.finfo(x.dtype).eps
        norm = jnp.sqrt((x * x).sum(-1))
        return norm <= jnp.asarray(self.radius, x.dtype) * slack

    def feasible_like(self, prototype: Vectors) -> Vectors:
        """Return zeros, the centre of the ball, in the shape of `prototype`."""
        return jnp.zeros_like(prototype)


class SimplexAboveTransform(_OneParameter, Transform):
    """Map real vectors to probabilities of at least `least`, by stick breaking."""

    least: Numbers
    parameter = "least"

    @property
    def domain(self) -> constraints.Constraint:
        """The constraint of the inputs: all real vectors."""
        return constraints.real_vector

    @property
    def codomain(self) -> SimplexAbove:
        """The constraint of the outputs: entries >= `least` that sum to 1."""
        return SimplexAbove(self.least)

    def __call__(self, x: Vectors) -> Float[Array, "*batch j"]:
        """Map a vector of k - 1 real numbers to k entries that sum to 1."""
        least = jnp.asarray(self.least)[..., None]
        return least + self._spare(x.shape[-1] + 1) * StickBreakingTransform()(x)

    def _inverse(self, y: Vectors) -> Float[Array, "*batch j"]:
        least = jnp.asarray(self.least)[..., None]
        stick = (y - least) / self._spare(y.shape[-1])
        return jnp.asarray(StickBreakingTransform()._inverse(stick))

    def log_abs_det_jacobian(
        self, x: Vectors, y: Float[Array, "*batch j"], intermediates: object = None
    ) -> Numbers:
        """Log of the Jacobian determinant of the first k - 1 outputs."""
        spare = self._spare(y.shape[-1])
        stick = (y - jnp.asarray(self.least)[..., None]) / spare
        plain = StickBreakingTransform().log_abs_det_jacobian(x, stick)
        return jnp.asarray(plain) + x.shape[-1] * jnp.log(spare[..., 0])

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the output's shape: one more entry on the last axis."""
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the input's shape: one entry less on the last axis."""
        return (*shape[:-1], shape[-1] - 1)

    def _spare(self, size: int) -> Numbers:
        """1 minus the sum of the bounds, with an axis for the entries."""
        return 1 - size * jnp.asarray(self.least)[..., None]


class BallTransform(_OneParameter, Transform):
    r"""The map $x \mapsto r x / \sqrt{1 + |x|^2}$ onto the open ball of radius r."""

    radius: Numbers
    parameter = "radius"

    @property
    def domain(self) -> constraints.Constraint:
        """The constraint of the inputs: all real vectors."""
        return constraints.real_vector

    @property
    def codomain(self) -> Ball:
        """The constraint of the outputs: norms up to `radius`."""
        return Ball(self.radius)

    def __call__(self, x: Vectors) -> Vectors:
        """Map a real vector x to radius · x / sqrt(1 + |x|²)."""
        size = jnp.sqrt(1 + (x * x).sum(-1, keepdims=True))
        return jnp.asarray(self.radius)[..., None] * x / size

    def _inverse(self, y: Vectors) -> Vectors:
        share = y / jnp.asarray(self.radius)[..., None]
        left = 1 - (share * share).sum(-1, keepdims=True)
        return share / jnp.sqrt(jnp.maximum(left, jnp.finfo(y.dtype).eps))

    def log_abs_det_jacobian(
        self, x: Vectors, y: Float[Array, "*batch j"], intermediates: object = None
    ) -> Numbers:
        """Log of the absolute Jacobian determinant at the input x."""
        size = x.shape[-1]
        stretched = (size / 2 + 1) * jnp.log1p((x * x).sum(-1))
        return size * jnp.log(jnp.asarray(self.radius)) - stretched


@biject_to.register(SimplexAbove)
def _onto_simplex(constraint: SimplexAbove) -> SimplexAboveTransform:
    return SimplexAboveTransform(constraint.least)


@biject_to.register(Ball)
def _onto_ball(constraint: Ball) -> BallTransform:
    return BallTransform(constraint.radius)
