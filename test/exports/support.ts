import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { upload } from '../files/support.ts'
import type { Answer, Json } from '../support/client.ts'
import { inPool, type Museum, payload } from '../support/seed/museum.ts'
import type { TestService } from '../support/service.ts'

export const run = promisify(execFile)

/** A search that finds all works, in the order of their ids. */
export const allWorks = { objecttypes: ['work'] }

let made = 0

/** An export as it is sent; each has a name of its own. */
export function draft(more: Json = {}, rest: Json = {}): Json {
  return {
    _basetype: 'export',
    export: { type: 'export', name: `export ${made++}`, search: allWorks, ...more },
    ...rest,
  }
}

export async function saved(svc: TestService, login: string, body: Json): Promise<Json> {
  const answer = await svc.as(login).post('/export', body)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

/** Runs an export to its end, and answers it as it is then. */
export async function ran(svc: TestService, login: string, id: number): Promise<Json> {
  const started = await svc.as(login).post(`/export/${id}/start`)
  assert.equal(started.status, 200, JSON.stringify(started.body))
  // A run that another process had to leave is taken up after a pause, and others of its user wait for it.
  await svc.app.idle({ hurry: true })
  const { body } = await svc.as(login).get(`/export/${id}`)
  return body
}

/** Saves an export and runs it. */
export async function exported(svc: TestService, more: Json, rest: Json = {}, login = 'root'): Promise<Json> {
  const { export: stored } = await saved(svc, login, draft(more, rest))
  return ran(svc, login, stored._id)
}

export async function fetchedFile(svc: TestService, id: number, path: string, login = 'root', headers: Json = {}) {
  const token = await svc.as(login).token()
  return svc.inject({
    method: 'GET',
    url: `/api/v1/export/${id}/file/${path}`,
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
}

export async function archiveBytes(
  svc: TestService,
  id: number,
  kind: 'zip' | 'tar_gz',
  login = 'root',
  packaging?: 'bagit',
): Promise<Buffer> {
  const token = await svc.as(login).token()
  const answer = await svc.inject({
    method: 'GET',
    url: `/api/v1/export/${id}/${kind}/${packaging ? `?package=${packaging}` : ''}`,
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(answer.statusCode, 200, answer.body.slice(0, 500))
  return answer.rawPayload
}

/** A folder with these bytes in a file; the test's temporary folder goes with it. */
export async function inFolder(name: string, bytes: Buffer): Promise<{ folder: string; path: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'export-'))
  const path = join(folder, name)
  await writeFile(path, bytes)
  return { folder, path }
}

export const picture = (red: number, width = 40, height = 20): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: { r: red, g: 20, b: 30 } } })
    .jpeg()
    .toBuffer()

/** Works with titles, the first ones with a picture each. */
export async function addWorks({ svc, pool }: Museum, titles: readonly string[], pictures = 0): Promise<Json[]> {
  const files: number[] = []
  for (let index = 0; index < pictures; index++) {
    const { body, status } = await upload(svc, 'root', [{ name: 'same name.jpg', content: await picture(index) }], {
      produce_versions: 'true',
    })
    assert.equal(status, 200, JSON.stringify(body))
    files.push(body[0]._id)
  }
  const objects = titles.map((title, index) =>
    payload(
      'work',
      { title: { 'en-US': title }, ...(files[index] ? { image: [{ _id: files[index], preferred: true }] } : {}) },
      inPool(pool),
    ),
  )
  const answer = await svc.as('root').post('/db/work', objects, { await_index: 60 })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

export const codeOf = ({ status, body }: Answer): [number, string] => [status, body?.code]

export async function addUser(svc: TestService, login: string, rights: Json = {}): Promise<number> {
  const answer = await svc
    .as('root')
    .post('/user', [{ user: { login, email: `${login}@example.org` }, _password: login, _system_rights: rights }])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0].user._id
}
