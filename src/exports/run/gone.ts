/** The document of an incremental export about objects that its user no longer finds. */
import { addFiles } from '../files.ts'
import { type ListedObject, listedObjects } from '../runs.ts'
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
    async write(tx) {
      const [contentId = null] = await deps.files.kept.keep(tx, 'export', [arrived])
      const file = { folder: '', name, kind: 'data' as const, contentId, mimeType, size: arrived.size }
      await addFiles(tx, run.id, [{ ...file, systemObjectId: null, source: null }])
    },
  }
}

async function* listOf({ db, databaseName }: RunDeps, runId: number): AsyncGenerator<Buffer> {
  let separator = '['
  for (let after = 0; ; ) {
    const listed = await listedObjects(db, runId, after, atATime)
    for (const { id } of listed.filter(isGone)) {
      yield Buffer.from(
        `${separator}${JSON.stringify({ _system_object_id: id, _global_object_id: `${id}@${databaseName}` })}`,
      )
      separator = ','
    }
    const last = listed.at(-1)
    if (!last) break
    after = last.position
  }
  yield Buffer.from(separator === '[' ? '[]' : ']')
}

const isGone = ({ version }: ListedObject): boolean => version === null
