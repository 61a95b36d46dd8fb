import { zip } from '../test/files/documents.ts'
import type { Caller } from './caller.ts'

/** The parts of a scene that these seeds need. */
interface Scene {
  readonly root: Caller
  fresh(): number
}

/** Answers its input. */
const echo = '#!/bin/sh\ncat\n'

function archive(name: string): Buffer {
  const body = { type: 'body' }
  const exec = { service: 'exec', commands: [{ prog: '%_exec.pluginDir%/echo.sh', stdin: body, stdout: body }] }
  const manifest = {
    plugin: { name, version: '1', displayname: { 'en-US': name }, l10n: 'texts.csv', webfrontend: { url: 'page.js' } },
    base_url_prefix: 'web',
    extensions: { echo: { exec } },
    base_config: [{ name: 'words', parameters: { greeting: { type: 'text' } } }],
  }
  const files = {
    'manifest.yml': JSON.stringify(manifest),
    'echo.sh': echo,
    'texts.csv': `key,en-US\n${name}.title,Echo\n`,
    'web/page.js': 'hello()',
  }
  return zip(Object.fromEntries(Object.entries(files).map(([path, content]) => [`${name}/${path}`, content])))
}

/** The id of an uploaded archive of a plugin. */
export async function pluginArchive({ root, fresh }: Scene, name = `fuzz-${fresh()}`): Promise<number> {
  const target = `/api/v1/eas/put?produce_versions=false&filenames=${encodeURIComponent(`["${name}.zip"]`)}`
  const headers = { authorization: `Bearer ${root.token}`, 'content-type': 'application/zip' }
  const answer = await root.send({ method: 'POST', target, headers, body: archive(name) })
  return JSON.parse(answer.body.toString())[0]._id
}

/** An installed plugin that is off. */
export async function addPlugin(scene: Scene, name?: string): Promise<number> {
  const body = { type: 'zip', zip_file: { _id: await pluginArchive(scene, name) } }
  return (await scene.root.call('PUT', '/plugin/manage', body)).id
}

/** The plugin that is on. */
export async function pluginThatIsOn(scene: Scene): Promise<string> {
  const { plugins } = await scene.root.call('GET', '/plugin')
  if (plugins.length > 0) return plugins[0].name
  const name = `fuzz-on-${scene.fresh()}`
  await scene.root.call('POST', `/plugin/manage/${await addPlugin(scene, name)}`, { enabled: true })
  return name
}
