"""The bills of the demo: four customers of an energy supplier, their meters and their invoices."""

from __future__ import annotations

from dataclasses import dataclass

OLD_TARIFF = "tariff:2026-standard"
NEW_TARIFF = "tariff:2026-standard@corrected"
VAT_PERCENT = 19
TOLERANCE_CENTS = 100


@dataclass(frozen=True, slots=True)
class Tariff:
    """A price per kWh in hundredths of a cent, and a base price a month in cents."""

    key: str
    price: int
    base: int


@dataclass(frozen=True, slots=True)
class Bill:
    """A customer's month: meter readings in kWh, and what the billing API says is due in cents."""

    customer: str
    name: str
    meter: str
    start: int
    end: int
    invoice: str
    due: int

    @property
    def usage(self) -> int:
        """The kWh used."""
        return self.end - self.start


TARIFFS = {
    OLD_TARIFF: Tariff(OLD_TARIFF, 3120, 950),
    NEW_TARIFF: Tariff(NEW_TARIFF, 2985, 950),
}

BILLS = (
    Bill("4711", "Lindner's Bakery", "M-88", 48_210, 49_322, "9001", 40_632),
    Bill("4712", "Sonnenhof Nursery", "M-91", 12_040, 12_655, "9002", 22_977),
    Bill("4713", "Brandt Motors", "M-93", 59_870, 64_408, "9003", 162_329),
    Bill("4714", "A. Okafor", "M-97", 3_301, 3_560, "9004", 10_331),
)

RULES: dict[str, dict[str, object]] = {
    "contract:crm/v3": {"api": "CRM", "reads": ["accounts", "meters"]},
    "contract:metering/v2": {"api": "metering", "reads": ["readings"]},
    "contract:billing/v5": {"api": "billing", "reads": ["invoices"]},
    "rule:vat": {"percent": VAT_PERCENT},
    "rule:tolerance": {"cents": TOLERANCE_CENTS},
}


def expected_cents(bill: Bill, tariff: Tariff) -> int:
    """What the bill should come to, VAT included, in cents rounded half up."""
    net = bill.usage * tariff.price + tariff.base * 100
    return (net * (100 + VAT_PERCENT) + 5_000) // 10_000
