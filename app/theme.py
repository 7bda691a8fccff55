"""The calm look of the studio: warm grey, white cards, one teal; light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gradio  # noqa: TID251 - only for the types, nothing is imported

CSS = Path(__file__).parent / "assets" / "studio.css"

# (light, dark). Each pair of a text and what it lies on has a contrast of 4.5 or more (WCAG AA);
# tests/app/test_theme.py computes it.
COLOURS = {
    "ground": ("#f6f5f2", "#161615"),
    "card": ("#ffffff", "#1f1f1d"),
    "ink": ("#1d1c1a", "#ecebe7"),
    "soft": ("#6a665f", "#a8a49b"),
    "line": ("#e4e1da", "#33322f"),
    "edge": ("#8f8a80", "#76726a"),
    "accent": ("#0f766e", "#3fb8ab"),
    "accent_soft": ("#d7efec", "#173a37"),
    "on_accent": ("#ffffff", "#0b1f1d"),
    "accent_strong": ("#0b5d57", "#5ccabe"),
    "bad": ("#b3261e", "#ef7d76"),
    "bad_soft": ("#fbe4e2", "#3d1d1b"),
}

# Which of Gradio's variables takes which colour. "*name" below is another of Gradio's variables.
USES = {
    "body_background_fill": "ground",
    "body_text_color": "ink",
    "body_text_color_subdued": "soft",
    "background_fill_primary": "card",
    "background_fill_secondary": "ground",
    "border_color_primary": "line",
    "border_color_accent": "accent",
    "border_color_accent_subdued": "line",
    "color_accent_soft": "accent_soft",
    "link_text_color": "accent",
    "link_text_color_hover": "accent_strong",
    "link_text_color_active": "accent_strong",
    "link_text_color_visited": "accent",
    "code_background_fill": "ground",
    "block_background_fill": "card",
    "block_border_color": "line",
    "block_info_text_color": "soft",
    "block_label_background_fill": "card",
    "block_label_border_color": "line",
    "block_label_text_color": "soft",
    "block_title_text_color": "ink",
    "panel_background_fill": "card",
    "panel_border_color": "line",
    "accordion_text_color": "ink",
    "table_text_color": "ink",
    "table_border_color": "line",
    "table_even_background_fill": "card",
    "table_odd_background_fill": "card",
    "table_row_focus": "accent_soft",
    "input_background_fill": "card",
    "input_background_fill_focus": "card",
    "input_background_fill_hover": "card",
    "input_border_color": "edge",
    "input_border_color_hover": "soft",
    "input_border_color_focus": "accent",
    "input_placeholder_color": "soft",
    "checkbox_background_color": "card",
    "checkbox_background_color_hover": "card",
    "checkbox_background_color_focus": "card",
    "checkbox_background_color_selected": "accent",
    "checkbox_border_color": "edge",
    "checkbox_border_color_hover": "soft",
    "checkbox_border_color_focus": "accent",
    "checkbox_border_color_selected": "accent",
    "checkbox_label_background_fill": "card",
    "checkbox_label_background_fill_hover": "ground",
    "checkbox_label_background_fill_selected": "accent_soft",
    "checkbox_label_border_color": "line",
    "checkbox_label_border_color_hover": "line",
    "checkbox_label_border_color_selected": "accent",
    "checkbox_label_text_color": "ink",
    "checkbox_label_text_color_selected": "ink",
    "error_background_fill": "bad_soft",
    "error_border_color": "bad",
    "error_text_color": "bad",
    "error_icon_color": "bad",
    "loader_color": "accent",
    "slider_color": "accent",
    "stat_background_fill": "accent_soft",
    "button_primary_background_fill": "accent",
    "button_primary_background_fill_hover": "accent_strong",
    "button_primary_border_color": "accent",
    "button_primary_border_color_hover": "accent_strong",
    "button_primary_text_color": "on_accent",
    "button_primary_text_color_hover": "on_accent",
    "button_secondary_background_fill": "card",
    "button_secondary_background_fill_hover": "ground",
    "button_secondary_border_color": "line",
    "button_secondary_border_color_hover": "edge",
    "button_secondary_text_color": "ink",
    "button_secondary_text_color_hover": "ink",
    "button_cancel_background_fill": "card",
    "button_cancel_background_fill_hover": "bad_soft",
    "button_cancel_border_color": "bad",
    "button_cancel_border_color_hover": "bad",
    "button_cancel_text_color": "bad",
    "button_cancel_text_color_hover": "bad",
}

SHAPES = {
    "body_text_size": "15px",
    "block_border_width": "1px",
    "block_label_text_size": "13px",
    "block_label_text_weight": "500",
    "block_title_text_size": "14px",
    "block_title_text_weight": "500",
    "block_info_text_size": "13px",
    "block_radius": "14px",
    "container_radius": "14px",
    "block_shadow": "none",
    "shadow_drop": "none",
    "shadow_drop_lg": "0 6px 24px rgb(0 0 0 / 0.12)",
    "input_radius": "9px",
    "input_shadow": "none",
    "input_border_width": "1px",
    "checkbox_border_width": "1px",
    "checkbox_shadow": "none",
    "checkbox_label_shadow": "none",
    "layout_gap": "16px",
    "button_border_width": "1px",
    "button_transition": "background-color 0.12s, border-color 0.12s",
    "button_large_radius": "9px",
    "button_medium_radius": "9px",
    "button_small_radius": "8px",
    "button_large_text_size": "15px",
    "button_medium_text_size": "15px",
    "button_small_text_size": "14px",
    "button_large_text_weight": "600",
    "button_medium_text_weight": "500",
    "button_small_text_weight": "500",
    "button_primary_shadow": "none",
    "button_primary_shadow_hover": "none",
    "button_primary_shadow_active": "none",
    "button_secondary_shadow": "none",
    "button_secondary_shadow_hover": "none",
    "button_secondary_shadow_active": "none",
}


def studio_theme() -> gradio.themes.Base:
    """Make Gradio's theme; the fonts are those of the system, so none is fetched."""
    from gradio import themes  # noqa: TID251 - takes seconds, so only when the page is built

    theme = themes.Base(
        primary_hue=themes.colors.teal,
        secondary_hue=themes.colors.teal,
        neutral_hue=themes.colors.stone,
        radius_size=themes.sizes.radius_md,
        font=["system-ui", "sans-serif"],
        font_mono=["ui-monospace", "Consolas", "monospace"],
    )
    values = {name: COLOURS[colour][0] for name, colour in USES.items()}
    values |= {f"{name}_dark": COLOURS[colour][1] for name, colour in USES.items()}
    theme.set(**values, **SHAPES)
    # The accent itself has one value in Gradio; studio.css gives the dark one.
    theme.set(color_accent=COLOURS["accent"][0])
    return theme
