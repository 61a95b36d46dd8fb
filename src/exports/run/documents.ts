/** Documents of the objects: one of all, or one for each. */
import type { ArrivedContent } from '../../files/service.ts'
import type { FormatInfo, FormatOptions, WrittenObject } from '../../formats/service.ts'
import type { ObjectVersion } from '../../objects/service.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { addFiles, type NewExportFile, takenPaths } from '../files.ts'
import { foundOf, listedObjects, walkObjects } from '../runs.ts'
import { type FileReferences, fileReferences } from './file-references.ts'
import { type DataFormat, dataFormats, formatOptions } from './formats.ts'
import { inRun } from './hold.ts'
import type { Done, RunDeps, Running } from './model.ts'
import { uniqueNames } from './names.ts'
import { CannotRun } from './over.ts'
import { stepAfter } from './steps.ts'

/** Objects that are read together. */
const atATime = 200

/** Writes one document of all objects. An interrupted document is made again: nothing of it was stored. */
export async function writeData(deps: RunDeps, running: Running): Promise<Done> {
  const { stored, run, actor } = running
  const { data, info } = formatOf(deps, running)
  const references = fileReferences(deps, running)
  let count = 0
  const options = { ...optionsOf(running, data.name, references), written: () => count++ } as FormatOptions
  const objects = allObjects(deps, running, references)
  const arrived = await deps.files.kept.receive(deps.formats.write(actor, { format: info.name, objects, options }))
  return {
    step: stepAfter(stored.body, run.step),
    position: 0,
    facts: { rendered: count },
    write: (tx) =>
      keepDocument(deps, tx, run.id, arrived, { name: `export.${info.extension}`, mimeType: info.contentType }),
  }
}

/** Keeps a document of all objects as a file of the run. */
export async function keepDocument(
  { files }: Pick<RunDeps, 'files'>,
  tx: Tx,
  runId: number,
  arrived: ArrivedContent,
  shown: { readonly name: string; readonly mimeType: string },
): Promise<void> {
  const [contentId = null] = await files.kept.keep(tx, 'export', [arrived])
  const file = { ...shown, folder: '', kind: 'data' as const, contentId, size: arrived.size }
  await addFiles(tx, runId, [{ ...file, systemObjectId: null, source: null }])
}

/** Documents of the next objects, stored together. */
export async function writeEach(deps: RunDeps, running: Running): Promise<Done | null> {
  const { stored, run, actor } = running
  const { data, info } = formatOf(deps, running)
  const listed = await listedObjects(deps.db, run.id, run.position, atATime)
  const last = listed.at(-1)
  if (!last) return { step: stepAfter(stored.body, run.step), position: 0 }
  const references = fileReferences(deps, running)
  const options = optionsOf(running, data.name, references)
  const objects = listOf(foundOf(listed), references)
  const made: WrittenObject[] = []
  async function* documents(): AsyncGenerator<Buffer> {
    for await (const { bytes, ...object } of deps.formats.each(actor, { format: info.name, objects, options })) {
      made.push(object)
      yield bytes
    }
  }
  const arrived = await deps.files.kept.receiveSet(documents())
  const wanted = made.map((object, index) => ({
    arrived: arrived[index] as ArrivedContent,
    object,
    folder: stored.body.flat ? '' : data.name,
    name: `${object.systemObjectId}.${info.extension}`,
    apart: data.name,
  }))
  const named = await uniqueNames(wanted, (keys) => takenPaths(deps.db, run.id, keys))
  return {
    step: run.step,
    position: last.position,
    facts: { rendered: (run.facts.rendered ?? 0) * (run.position === 0 ? 0 : 1) + made.length },
    async write(tx) {
      const ids = await deps.files.kept.keep(
        tx,
        'export',
        named.map(({ arrived }) => arrived),
      )
      const files = named.map(
        ({ folder, name, arrived, object }, index): NewExportFile => ({
          folder,
          name,
          kind: 'data',
          contentId: ids[index] ?? null,
          mimeType: info.contentType,
          size: arrived.size,
          systemObjectId: object.systemObjectId,
          source: null,
        }),
      )
      await addFiles(tx, run.id, files)
    },
  }
}

/** The document that the step makes. */
function formatOf(deps: RunDeps, { stored: { body }, run }: Running): { data: DataFormat; info: FormatInfo } {
  const name = run.step.slice(run.step.indexOf(':') + 1)
  const data = dataFormats(body).find((one) => one.name === name)
  const sheet = data?.name === 'xml' ? body.xslt_xml_post_processing : undefined
  const format = sheet ? deps.formats.sheetOf(sheet._id) : data?.format
  if (format === null) throw new CannotRun('The style sheet is not there any more.')
  const info = data && format && deps.formats.find(format)
  if (!data || !info) throw new Error(`there is no format ${name}`)
  return { data, info }
}

function optionsOf({ stored: { body } }: Running, name: string, { choice }: FileReferences): FormatOptions {
  const own = body.eas_fields === undefined || Object.keys(body.eas_fields).length === 0
  return { ...formatOptions(body, name), ...(own ? {} : { fileOf: choice }) }
}

/** One list of objects, with the references to their files. */
async function* listOf(
  objects: readonly ObjectVersion[],
  references: FileReferences,
): AsyncGenerator<readonly ObjectVersion[]> {
  await references.load(objects)
  yield objects
}

/** All objects of the run, list by list. */
async function* allObjects(
  { db }: RunDeps,
  { run }: Running,
  references: FileReferences,
): AsyncGenerator<readonly ObjectVersion[]> {
  for await (const listed of walkObjects(db, run.id, atATime)) {
    // Ends the writing, within a batch, if the run is over.
    await inRun({ db }, run, async () => {})
    yield* listOf(foundOf(listed), references)
  }
}
