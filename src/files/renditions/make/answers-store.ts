import type { Queryable } from '../../../platform/postgres/db.ts'

export interface NewAnswer {
  readonly fileId: number
  readonly recipe: string
  /** Hexadecimal, as `madeOf`: the recipe with its parameters, and the content that it was asked about. */
  readonly question: string
  readonly madeOf: string
  readonly answer: Readonly<Record<string, unknown>>
}

/** Answers about files, by `<file> <recipe> <question> <content>`. */
export async function findAnswers(
  from: Queryable,
  fileIds: readonly number[],
): Promise<ReadonlyMap<string, NewAnswer['answer']>> {
  const { rows } = await from.query<{ key: string; answer: NewAnswer['answer'] }>(
    `select concat_ws(' ', file_id, recipe, encode(question, 'hex'), encode(made_of, 'hex')) as key, answer
     from file_recipe_answer where file_id = any($1::bigint[])`,
    [fileIds],
    'find-recipe-answers',
  )
  return new Map(rows.map(({ key, answer }) => [key, answer]))
}

/** The latest answer of each recipe about a file; of a file that has gone there is none. */
export async function putAnswers(to: Queryable, answers: readonly NewAnswer[]): Promise<void> {
  await to.query(
    `insert into file_recipe_answer (file_id, recipe, question, made_of, answer)
     select f.id, x.recipe, decode(x.question, 'hex'), decode(x."madeOf", 'hex'), x.answer
     from json_to_recordset($1::json) as x("fileId" bigint, recipe text, question text, "madeOf" text, answer jsonb)
     join file f on f.id = x."fileId" order by 1, 2
     on conflict (file_id, recipe) do update
       set question = excluded.question, made_of = excluded.made_of, answer = excluded.answer`,
    [JSON.stringify(answers)],
    'put-recipe-answers',
  )
}
