"""The gateway to all models, and what every backend is. Behind it is `nightshift/models/`."""

from nightshift.models.base import BaseModelHandler
from nightshift.models.gateway import ModelHandler

__all__ = ["BaseModelHandler", "ModelHandler"]
