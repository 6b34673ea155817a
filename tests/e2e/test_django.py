"""A Django project without pytest-django: its tests and those of the agent run as with `manage.py test`."""

from __future__ import annotations

from pathlib import Path

from tests.support.answers import PLAN
from tests.support.daemon import Daemon, git, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

MANAGE = """import os
import sys

from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
execute_from_command_line(sys.argv)
"""
SETTINGS = """SECRET_KEY = "development-only"
INSTALLED_APPS = ["catalog"]
ROOT_URLCONF = "shop.urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
"""
URLS = """from django.http import JsonResponse
from django.urls import path

from catalog.models import Product


def list_products(request):
    return JsonResponse({"names": [product.name for product in Product.objects.all()]})


urlpatterns = [path("products/", list_products)]
"""
MODELS = """from django.db import models


class Product(models.Model):
    name = models.CharField(max_length=100)
    cents = models.PositiveIntegerField()

    def price(self):
        return f"{self.cents // 100}.{self.cents % 100}"
"""
TESTS = """from django.test import TestCase

from .models import Product


class ProductTests(TestCase):
    def test_names_are_listed(self):
        Product.objects.create(name="Tea", cents=1250)
        self.assertEqual(self.client.get("/products/").json(), {"names": ["Tea"]})
"""
OWN = """from django.test import TestCase

from catalog.models import Product


class PriceTests(TestCase):
    def test_small_cents_have_two_digits(self):
        Product.objects.create(name="Tea", cents=1205)
        self.assertEqual(Product.objects.get().price(), "12.05")
"""
FILES = {
    "manage.py": MANAGE, "requirements.txt": "django>=5,<6\n", "shop/__init__.py": "", "shop/settings.py": SETTINGS,
    "shop/urls.py": URLS, "catalog/__init__.py": "", "catalog/models.py": MODELS, "catalog/tests.py": TESTS,
    "catalog/migrations/__init__.py": "",
}  # fmt: skip
MIGRATION = """from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.CreateModel("Product", [
            ("id", models.BigAutoField(primary_key=True, serialize=False)),
            ("name", models.CharField(max_length=100)),
            ("cents", models.PositiveIntegerField()),
        ]),
    ]
"""


class Shop:
    """A model that mends the price; its first version also breaks the list of products."""

    def __init__(self) -> None:
        self.prompts: dict[str, list[str]] = {}

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        asked = self.prompts.setdefault(phase, [])
        asked.append("\n".join(message["content"] for message in messages))
        if phase == "CODING":
            mended = MODELS.replace("% 100}", "% 100:02d}")
            broken = mended.replace("    def price", "    class Meta:\n        abstract = True\n\n    def price")
            return f"```python path=catalog/models.py\n{broken if len(asked) == 1 else mended}```"
        if phase == "TESTING":
            return f"```python path=catalog/test_price.py\n{OWN}```"
        return PLAN if phase == "PLANNING" else "{}"


def test_tests_of_a_django_project_judge_a_change(tmp_path: Path) -> None:
    repo, shop = make_repo(tmp_path / "shop", {**FILES, "catalog/migrations/0001_initial.py": MIGRATION}), Shop()
    with WireServer(shop) as server, Daemon(tmp_path / "home", settings_for(server, WORKER_COUNT="1")) as daemon:
        number = daemon.submit(description="Product.price() of 1205 cents must be 12.05; fix it", repo=str(repo))
        (task,) = daemon.wait(number, within_s=500)
        assert task["ending"] == "committed", (task["reason"], daemon.output()[-3000:])
        assert len(shop.prompts["CODING"]) == 2, "the project's own test did not judge"
        assert "django.test.TestCase" in shop.prompts["TESTING"][0]
        assert "PriceTests" in git(repo, "show", f"{task['commit']}:catalog/test_price.py")
        verified = daemon.cli("--verify", task["commit"], "--repo", str(repo))
        assert verified.returncode == 0, verified.stdout + verified.stderr
