/** Documents of the objects: one of all, or one for each. */
import type { ArrivedContent } from '../../files/service.ts'
import type { FileChoice, FormatInfo, FormatOptions, WrittenObject } from '../../formats/service.ts'
import type { ObjectVersion } from '../../objects/service.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { addFiles, assetsOfObjects, type NewExportFile, takenPaths } from '../files.ts'
import { type ExportFile, pathOf } from '../model.ts'
import { foundOf, listedObjects, walkObjects } from '../runs.ts'
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
  const told = toldFiles(deps, running)
  let count = 0
  const options = { ...optionsOf(running, data.name, told), written: () => count++ } as FormatOptions
  const arrived = await deps.files.kept.receive(
    deps.formats.write(actor, { format: info.name, objects: told.objects(), options }),
  )
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
  const told = toldFiles(deps, running)
  const options = optionsOf(running, data.name, told)
  const objects = told.these(foundOf(listed))
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

function optionsOf({ stored: { body } }: Running, name: string, told: ToldFiles): FormatOptions {
  const own = body.eas_fields === undefined || Object.keys(body.eas_fields).length === 0
  return { ...formatOptions(body, name), ...(own ? {} : { fileOf: told.choice }) }
}

type ToldFiles = ReturnType<typeof toldFiles>

/**
 * File references in documents: the paths of exported files relative to the document, and the addresses of the versions
 * that the export asks for. Files of the objects being written are loaded in advance.
 */
function toldFiles({ db }: RunDeps, { stored: { body }, run }: Running) {
  /** The list that is being written, and the one before: a writer may still have some of that. */
  let known: readonly ReadonlyMap<string, readonly ExportFile[]>[] = []
  const key = (systemObjectId: number, fileId: number, field: string) => `${systemObjectId} ${fileId} ${field}`

  async function these(wanted: readonly ObjectVersion[]): Promise<readonly ObjectVersion[]> {
    const assets = await assetsOfObjects(
      db,
      run.id,
      wanted.map(({ systemObjectId }) => systemObjectId),
    )
    const byFile = Map.groupBy(assets, ({ systemObjectId, source }) =>
      key(systemObjectId ?? 0, source?.fileId ?? 0, source?.field ?? ''),
    )
    known = [byFile, ...known].slice(0, 2)
    return wanted
  }

  const choice: FileChoice = (file, place) => {
    const own = body.eas_fields ?? {}
    if (!Object.hasOwn(own, place.field)) return null
    const versions: Record<string, { path?: string; url?: string }> = {}
    const name = key(place.object.systemObjectId, Number(file._id), place.field)
    for (const asset of known.map((map) => map.get(name)).find((list) => list !== undefined) ?? []) {
      versions[labelOf(asset)] = { path: pathOf(asset) }
    }
    for (const wanted of own[place.field]?.data ?? []) {
      const version = nameOfVersion(wanted, `${file.class}`)
      const shown =
        version === null ? undefined : (file.versions as Record<string, { url?: string } | undefined>)?.[version]
      if (version !== null && shown?.url !== undefined) versions[version] = { ...versions[version], url: shown.url }
    }
    return { versions }
  }

  return {
    choice,
    these: async function* (wanted: readonly ObjectVersion[]): AsyncGenerator<readonly ObjectVersion[]> {
      yield await these(wanted)
    },
    async *objects(): AsyncGenerator<readonly ObjectVersion[]> {
      for await (const listed of walkObjects(db, run.id, atATime)) {
        // Ends the writing, within a batch, if the run is over.
        await inRun({ db }, run, async () => {})
        yield await these(foundOf(listed))
      }
    },
  }
}

/** The name of a version in a document; a picture made by the export has the name of its preset. */
function labelOf({ source }: ExportFile): string {
  return source?.preset ?? (source?.custom ? 'custom' : (source?.version ?? 'original'))
}

function nameOfVersion(
  { type, version = '' }: { readonly type: string; readonly version?: string | undefined },
  kind: string,
): string | null {
  if (type !== 'version') return 'original'
  const [first = '', second] = version.split('.')
  if (second === undefined) return first
  return first === kind ? second : null
}
