import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { startService, type TestService, type TestServiceOptions } from '../support/service.ts'

/** Photographs of several cameras, where this checkout has them beside it. */
const checkout = join(import.meta.dirname, '../..')
export const photographs =
  ['..', '../..'].map((up) => join(checkout, up, 'shared/data/files/images/jpg')).find(existsSync) ?? ''

export interface Archive extends AsyncDisposable {
  readonly svc: TestService
  readonly pool: number
}

/** An archive of photographs: columns of each type, nested lists of texts and of links, and a link of its own. */
export async function startArchive(options: TestServiceOptions = {}): Promise<Archive> {
  const svc = await startService(options)
  const model = defineModel(
    {
      keyword: {
        columns: { name: 'text_oneline', label: 'text_l10n_oneline', note: 'text' },
        unique: [['name']],
      },
      term: { columns: { label: 'text_l10n_oneline', code: 'string' } },
      person: { columns: { name: 'text_oneline', role: 'text_oneline' } },
      topic: { columns: { name: 'text_oneline' }, flags: { pool_link: true } },
      photo: {
        columns: {
          title: 'text_l10n',
          caption: 'text_l10n',
          headline: 'text_oneline',
          rights: 'text_l10n_oneline',
          creator: 'link:person',
          date: 'date',
          moment: 'datetime',
          period: 'daterange',
          city: 'text_oneline',
          position: 'geo_json',
          iso: 'number',
          f_number: 'double',
          secret: 'text_oneline',
          about: 'link:topic',
          file: 'eas',
        },
        nested: {
          keywords: { columns: { keyword: 'link:keyword', remark: 'text_oneline' } },
          persons: { columns: { name: 'text_oneline' } },
          terms: { columns: { term: 'link:term' } },
          topics: { columns: { topic: 'link:topic' } },
        },
        flags: { pool_link: true, has_tags: true },
      },
    },
    { photo__open: { table: 'photo', shape: (field, name) => (name === 'photo.secret' ? null : field) } },
  )
  try {
    await commitModel(svc, model)
    return { svc, pool: await standardPool(svc), [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose]() }
  } catch (error) {
    await svc[Symbol.asyncDispose]()
    throw error
  }
}

/** Uploads a photograph and waits until what it says of itself is known. */
export async function uploaded(svc: TestService, name: string, content: Buffer): Promise<Json> {
  const { status, body } = await upload(svc, 'root', [{ name, content }], { produce_versions: 'true' })
  assert.equal(status, 200, JSON.stringify(body))
  await svc.drain()
  return body[0]
}

export const photograph = (path: string): Promise<Buffer> => readFile(join(photographs, path))

export async function tableId(svc: TestService, name: string): Promise<number> {
  const { body } = await svc.as('root').get('/objecttype', { format: 'short' })
  return body.find(({ objecttype }: Json) => objecttype.name === name).objecttype._id
}

/** A mapping of the profile of the service; the id of it. */
export async function mapping(svc: TestService, fields: readonly object[], more: object = {}): Promise<number> {
  const answer = await svc.as('root').put('/xmlmapping/mapping', {
    profile: 'file-metadata.yml',
    displayname: { 'en-US': 'Photographs' },
    idTable: await tableId(svc, 'photo'),
    fields,
    ...more,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body.id
}
