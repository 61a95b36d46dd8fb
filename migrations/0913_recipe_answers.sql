-- What recipes of plugins have said of originals when a mapping asked for it: the same question is asked once.
create table file_recipe_answer (
  file_id bigint not null,
  recipe text not null,
  question bytea not null,
  made_of bytea not null,
  answer jsonb not null,
  constraint file_recipe_answer_pkey primary key (file_id, recipe),
  constraint file_recipe_answer_file_fkey foreign key (file_id) references file (id) on delete cascade
);
comment on table file_recipe_answer is 'What recipes that mappings ask have said of originals, the latest of each recipe.';
comment on column file_recipe_answer.question is 'The recipe as it was, with its parameters.';
comment on column file_recipe_answer.made_of is 'The content that it was asked about.';
comment on column file_recipe_answer.answer is 'The JSON object that it has written.';
