/** The document of an incremental export about objects that its user no longer finds. */
import { type ListedObject, walkObjects } from '../runs.ts'
import { keepDocument } from './documents.ts'
import type { Done, RunDeps, Running } from './model.ts'
import { stepAfter } from './steps.ts'

const atATime = 5000
const name = 'deleted.json'
const mimeType = 'application/json; charset=utf-8'

export async function writeGone(deps: RunDeps, { stored, run }: Running): Promise<Done> {
  const step = { step: stepAfter(stored.body, run.step), position: 0 }
  if ((run.facts.gone ?? 0) === 0) return step
  const arrived = await deps.files.kept.receive(listOf(deps, run.id))
  return {
    ...step,
    write: (tx) => keepDocument(deps, tx, run.id, arrived, { name, mimeType }),
  }
}

async function* listOf({ db, databaseName }: RunDeps, runId: number): AsyncGenerator<Buffer> {
  let separator = '['
  for await (const listed of walkObjects(db, runId, atATime)) {
    for (const { id } of listed.filter(isGone)) {
      yield Buffer.from(
        `${separator}${JSON.stringify({ _system_object_id: id, _global_object_id: `${id}@${databaseName}` })}`,
      )
      separator = ','
    }
  }
  yield Buffer.from(separator === '[' ? '[]' : ']')
}

const isGone = ({ version }: ListedObject): boolean => version === null
