/** Rewrites the examples in the description of the interface: real requests, sent to a real service, with their answers. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { recordExamples } from '../fuzz/examples.ts'
import { startOrigin } from '../fuzz/stage.ts'

await using origin = await startOrigin()
const examples = await recordExamples(origin)
const file = join(import.meta.dirname, '..', 'src', 'system', 'openapi', 'examples.json')
await writeFile(file, `${JSON.stringify(examples, null, 1)}\n`)
