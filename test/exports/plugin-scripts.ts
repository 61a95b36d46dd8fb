/** Plugins of exports, as archives of the tests have them. */

import type { PluginFiles } from '../plugins/support.ts'
import type { Json } from '../support/client.ts'

export interface Procedure {
  readonly service?: 'node' | 'python3'
  /** Members of `exec`. */
  readonly exec?: Json
  /** In place of `stdin: {type: body}`. */
  readonly args?: readonly string[]
  readonly readsInput?: boolean
}

interface Procedures {
  readonly export?: Readonly<Record<string, Procedure>>
  readonly export_transport?: Readonly<Record<string, Procedure>>
}

/** A manifest whose procedures run `run.js` or `run.py` with their names. */
export function exportManifest(
  name: string,
  { export: exports = {}, export_transport: transports = {} }: Procedures,
): string {
  const entries = (procedures: Readonly<Record<string, Procedure>>) =>
    Object.fromEntries(Object.entries(procedures).map(([key, one]) => [key, { exec: execOf(key, one) }]))
  return JSON.stringify({
    plugin: { name, version: '1', displayname: { 'en-US': name } },
    callbacks: { export: entries(exports), export_transport: entries(transports) },
  })
}

function execOf(name: string, { service = 'node', exec = {}, args = [], readsInput = true }: Procedure): Json {
  const script = `%_exec.pluginDir%/run.${service === 'node' ? 'js' : 'py'}`
  return {
    service,
    commands: [
      {
        prog: service,
        ...(readsInput ? { stdin: { type: 'body' } } : {}),
        stdout: { type: 'body' },
        args: [script, name, ...args].map((value) => ({ type: 'value', value })),
      },
    ],
    ...exec,
  }
}

/** `procedures` by their names: each gets what was read, and answers with what it gives back. */
export const reworking = (procedures: string): string => `
const procedures = { ${procedures} }
let input = ''
process.stdin.on('data', (chunk) => { input += chunk })
process.stdin.on('end', async () => {
  const told = JSON.parse(input)
  const { info, export: exported, plugin_action: action } = told
  const headers = { authorization: 'Bearer ' + info.api_user_access_token }
  const fetched = async (path) => {
    const address = info.api_url + '/api/v1/export/' + exported.export._id + '/file/' + path
    const response = await fetch(address, { headers })
    if (response.status !== 200) throw new Error(path + ': ' + response.status + ' ' + (await response.text()))
    return Buffer.from(await response.arrayBuffer())
  }
  const answer = await procedures[process.argv[2]]({ told, info, exported, action, fetched })
  if (answer !== undefined) process.stdout.write(typeof answer === 'string' ? answer : JSON.stringify(answer))
})
`

/** Lists the hashes of all files, as it fetches them. */
export const sums = `async sums({ exported, action, fetched }) {
  if (action === 'md5') {
    const lines = []
    for (const { path, export_file_internal: own } of exported._files) {
      if (own.plugin_action) continue
      const hash = require('node:crypto').createHash('md5').update(await fetched(path)).digest('hex')
      lines.push(hash + '  ' + path)
    }
    return lines.join('\\n') + '\\n'
  }
  for (const { path } of exported._files) await fetched(path)
  const file = { path: 'sums/md5.txt', content_type: 'text/plain', plugin_action: 'md5' }
  return {
    ...exported,
    _files: [...exported._files, { export_file_internal: file }],
    _state: 'done',
    _plugin_log: ['looked at ' + exported._files.length, 'done'],
  }
}`

export const pythonSums = `
import hashlib, json, sys, urllib.parse, urllib.request
told = json.load(sys.stdin)
exported, info = told['export'], told['info']
def fetched(path):
    address = '%s/api/v1/export/%d/file/%s' % (info['api_url'], exported['export']['_id'], urllib.parse.quote(path))
    request = urllib.request.Request(address, headers={'Authorization': 'Bearer ' + info['api_user_access_token']})
    return urllib.request.urlopen(request).read()
if told['plugin_action']:
    for file in exported['_files']:
        if not file['export_file_internal']['plugin_action']:
            print(hashlib.md5(fetched(file['path'])).hexdigest() + '  ' + file['path'])
else:
    exported['_files'].append({'export_file_internal': {'path': 'md5.txt', 'content_type': 'text/plain', 'plugin_action': 'md5'}})
    exported['_state'] = 'done'
    exported['_plugin_log'] = ['from Python']
    print(json.dumps(exported))
`

export function pluginFiles(name: string, procedures: Procedures, scripts: PluginFiles): PluginFiles {
  return { 'manifest.yml': exportManifest(name, procedures), ...scripts }
}
