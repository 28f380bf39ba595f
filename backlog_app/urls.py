from django.urls import URLPattern, path

from backlog_app.views import backlog_list, board, links, sprints, story

urlpatterns: list[URLPattern] = [
    path("board/", board.board, name="board"),
    path("board/moves/", board.moves, name="board_moves"),
    path("board/claim/", board.claim, name="board_claim"),
    path("board/limits/", board.limits, name="board_limits"),
    path("board/flow/", sprints.flow_page, name="board_flow"),
    path("board/list/", backlog_list.backlog_list, name="backlog_list"),
    path("board/list/change/", backlog_list.change_many, name="backlog_change"),
    path("board/list/paste/", backlog_list.paste, name="backlog_paste"),
    path("board/list/export.csv", backlog_list.export, name="backlog_export"),
    path("board/list/import/", backlog_list.take, name="backlog_import"),
    path("board/sprints/", sprints.sprint_list, name="sprints"),
    path("board/sprints/<int:sprint_id>/", sprints.sprint, name="sprint"),
    path("board/sprints/<int:sprint_id>/burndown/", sprints.burndown, name="sprint_burndown"),
    path("board/sprints/<int:sprint_id>/start/", sprints.start, name="sprint_start"),
    path("board/sprints/<int:sprint_id>/close/", sprints.close, name="sprint_close"),
    path("board/link/", links.link, name="story_link_from"),
    path("board/unlink/", links.unlink, name="story_unlink_from"),
    path("board/stories/new/", story.new, name="story_new"),
    path("board/stories/<int:story_id>/", story.story, name="story"),
    path("board/stories/<int:story_id>/edit/", story.edit, name="story_edit"),
    path("board/stories/<int:story_id>/move/", story.move, name="story_move"),
    path("board/stories/<int:story_id>/criteria/", story.tick, name="story_tick"),
    path("board/stories/<int:story_id>/comments/", story.comment, name="story_comment"),
    path("board/stories/<int:story_id>/links/", story.link, name="story_link"),
    path("board/stories/<int:story_id>/links/remove/", story.unlink, name="story_unlink"),
    path("board/stories/<int:story_id>/delete/", story.delete, name="story_delete"),
    path("board/stories/<int:story_id>/restore/", story.restore, name="story_restore"),
]
