import assert from 'node:assert/strict'
import { zip } from '../files/documents.ts'
import { upload } from '../files/support.ts'
import type { Answer, Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** The entries of an archive below the folder of a plugin. */
export type PluginFiles = Readonly<Record<string, string | Buffer>>

export function archive(name: string, files: PluginFiles): Buffer {
  return zip(Object.fromEntries(Object.entries(files).map(([path, content]) => [`${name}/${path}`, content])))
}

/** Uploads an archive; gives the id of the file. */
export async function uploadArchive(svc: TestService, content: Buffer, login = 'root'): Promise<number> {
  const { status, body } = await upload(svc, login, [{ name: 'plugin.zip', content }])
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]._id
}

export async function putArchive(svc: TestService, content: Buffer): Promise<Answer> {
  return svc.as('root').put('/plugin/manage', { type: 'zip', zip_file: { _id: await uploadArchive(svc, content) } })
}

/** Installs a plugin, and switches it on. */
export async function install(svc: TestService, name: string, files: PluginFiles): Promise<Json> {
  const put = await putArchive(svc, archive(name, files))
  assert.equal(put.status, 200, JSON.stringify(put.body))
  return switched(svc, put.body.id, true)
}

export async function switched(svc: TestService, id: number, enabled: boolean): Promise<Json> {
  const answer = await svc.as('root').post(`/plugin/manage/${id}`, { id, enabled })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

export async function remove(svc: TestService, id: number): Promise<void> {
  assert.deepEqual((await svc.as('root').delete(`/plugin/manage/${id}`)).body, { acknowledged: true })
}

export interface CallbackPlugin {
  /** Without it for every save. */
  readonly objecttypes?: readonly string[]
  readonly exec?: object
  readonly entry?: object
  readonly more?: object
  readonly service?: string
  readonly args?: readonly string[]
}

/** A manifest with one callback of saves, whose program is `run.js` or `run.py`. YAML has all of JSON. */
export function callbackManifest(name: string, options: CallbackPlugin = {}): string {
  const { objecttypes, exec, entry, more, service = 'node', args = [] } = options
  const script = `%_exec.pluginDir%/run.${service === 'node' ? 'js' : 'py'}`
  const program = {
    service,
    commands: [
      {
        prog: service,
        stdin: { type: 'body' },
        stdout: { type: 'body' },
        args: [script, ...args].map((value) => ({ type: 'value', value })),
      },
    ],
    ...exec,
  }
  return JSON.stringify({
    plugin: { name, version: '1', displayname: { 'en-US': name } },
    callbacks: {
      db_pre_save: {
        steps: [
          { name: 'step', callback: 'run', ...(objecttypes ? { filter: { type: 'objecttype', objecttypes } } : {}) },
        ],
        callbacks: { run: { exec: program, ...entry } },
      },
    },
    ...more,
  })
}

/** A script that reads the payload, and has it as `payload`. */
export function nodeScript(body: string): string {
  return `
let input = ''
process.stdin.on('data', (chunk) => { input += chunk })
process.stdin.on('end', async () => {
  const payload = JSON.parse(input)
  const answer = (value) => process.stdout.write(JSON.stringify(value))
  ${body}
})
`
}
