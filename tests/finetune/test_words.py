from __future__ import annotations

from finetune.words import join_words


def spaced(text: str) -> list[str]:
    """Words as Whisper gives them, each with the space before it."""
    return [f" {word}" for word in text.split()]


def test_words_are_joined_as_their_script_is_written():
    assert join_words(spaced("Hello there, you.")) == "Hello there, you."
    assert join_words([" It's", " 3", ".5", " m."]) == "It's 3.5 m."
    assert join_words(["Hello", "there", ",", "you"]) == "Hello there, you"
    assert join_words(["今日", "は", "晴れ", "。"]) == "今日は晴れ。"
    assert join_words(["สวัสดี", "ครับ"]) == "สวัสดีครับ"
    assert join_words(["안녕", "하세요"]) == "안녕 하세요"
    assert join_words([]) == ""
