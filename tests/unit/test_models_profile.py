"""What is known of the endpoints, by the name of a model."""

import pytest

from nodes.models.profile import KIMI, UnknownProfile, profile_of

IDS = {
    "kimi-k3", "kimi-k3.1-pro", "kimi-k3.1-pro-highspeed", "kimi-k2.7-code", "kimi-k2.7-code-highspeed", "kimi-k2.6",
}  # fmt: skip


def test_there_is_room_for_reasoning_at_every_effort() -> None:
    for profile in (*KIMI.values(), profile_of("openai:model", "http://127.0.0.1:8000/v1")):
        assert all(profile.reasoning_room(effort) > 0 for effort in (None, *profile.efforts))


def test_every_model_of_the_family_is_known_by_its_id() -> None:
    assert set(KIMI) == IDS
    for name in IDS:
        profile = profile_of(name)
        assert (profile.name, profile.model, profile.family) == (name, name, "kimi")
        assert profile.key_variables == ("MOONSHOT_API_KEY", "KIMI_API_KEY")
        assert not profile.sends_sampling
        assert profile.answer_tokens_field == "max_completion_tokens"


def test_k3_is_as_it_is_documented() -> None:
    k3 = profile_of("kimi-k3")
    assert k3.base_url == "https://api.moonshot.ai/v1"
    assert k3.place == "api.moonshot.ai"
    assert k3.context_tokens == 1_048_576
    assert k3.efforts == ("low", "high", "max")
    assert k3.reasoning_room(None) == k3.reasoning_room("max") > k3.reasoning_room("low")
    assert k3.price is not None
    assert (k3.price.prompt, k3.price.completion, k3.price.cached) == (3.0, 15.0, 0.30)
    assert k3.price.as_of == "2026-09"


def test_an_endpoint_of_ones_own_needs_its_address_and_no_key() -> None:
    profile = profile_of("openai:org/model:7b", "http://user:pw@127.0.0.1:8000/v1/")
    assert (profile.name, profile.model) == ("openai:org/model:7b", "org/model:7b")
    assert profile.base_url == "http://user:pw@127.0.0.1:8000/v1"
    # What is shown and recorded holds no password.
    assert profile.place == "127.0.0.1:8000"
    assert profile.sends_sampling
    assert profile.answer_tokens_field == "max_tokens"
    assert not profile.needs_key
    assert profile.price is None


def test_openai_itself_takes_only_the_newer_name_of_the_room() -> None:
    profile = profile_of("openai:gpt", "https://api.openai.com/v1")
    assert profile.answer_tokens_field == "max_completion_tokens"


def test_a_known_model_may_be_at_another_address_with_another_context() -> None:
    profile = profile_of("kimi-k3", "https://api.moonshot.cn/v1", 200_000)
    assert (profile.name, profile.place) == ("kimi-k3", "api.moonshot.cn")
    assert profile.context_tokens == 200_000


@pytest.mark.parametrize("name", ["kimi-k9", "openai:", "gpt-5", ""])
def test_an_unknown_name_is_answered_with_those_that_there_are(name: str) -> None:
    with pytest.raises(UnknownProfile, match=r"kimi-k3, kimi-k3\.1-pro") as told:
        profile_of(name, "http://127.0.0.1:8000/v1")
    assert "openai:NAME" in str(told.value)


def test_a_model_of_ones_own_without_an_address_is_refused() -> None:
    with pytest.raises(UnknownProfile, match="base URL"):
        profile_of("openai:model")
