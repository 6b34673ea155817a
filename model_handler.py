"""The gateway to all models, and the interface of every backend. The implementation is `nightshift/models/`."""

from nightshift.models.base import BaseModelHandler
from nightshift.models.gateway import ModelHandler

__all__ = ["BaseModelHandler", "ModelHandler"]
