import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CannotMake } from '../workshop/failure.ts'
import type { RunProgram } from './run.ts'

/** Documents that LibreOffice opens. */
const documents = new Set('csv doc docx odp ods odt ppsx ppt pptx rtf txt xls xlsx'.split(' '))

export function isDocument(extension: string): boolean {
  return documents.has(extension)
}

/** Documents as PDF, by LibreOffice. */
export function createOffice(run: RunProgram) {
  return {
    async pdf(path: string, extension: string, folder: string, signal: AbortSignal): Promise<string> {
      const [into, profile] = [join(folder, 'pdf'), join(folder, 'profile')]
      await mkdir(into)
      await mkdir(join(profile, 'user'), { recursive: true })
      await writeFile(join(profile, 'user', 'registrymodifications.xcu'), settings)
      const named = join(folder, `document.${extension}`)
      // The program recognises types by the file name.
      await symlink(path, named)
      const args = [`-env:UserInstallation=file://${profile}`, '--headless', '--norestore', '--nolockcheck']
      await run('soffice', { args: [...args, '--convert-to', 'pdf', '--outdir', into, named], folder, signal })
      const [made] = await readdir(into)
      if (made === undefined) throw new CannotMake('unreadable', 'soffice cannot read the document')
      return join(into, made)
    },
  }
}

/** A document must not fetch anything, include other files, or run code. */
const values: readonly (readonly [path: string, name: string, value: string | number | boolean])[] = [
  ['Office.Common/Security/Scripting', 'BlockUntrustedRefererLinks', true],
  ['Office.Common/Security/Scripting', 'DisableMacrosExecution', true],
  ['Office.Common/Security/Scripting', 'DisableActiveContent', true],
  ['Office.Common/Security/Scripting', 'MacroSecurityLevel', 3],
  ['Office.Writer/Content/Update', 'Link', 0],
  ['Office.Calc/Content/Update', 'Link', 1],
  ['Office.Calc/Formula/Load', 'OOXMLRecalcMode', 1],
  ['Office.Calc/Formula/Load', 'ODFRecalcMode', 1],
  // Where the network cannot be cut off, a proxy that does not exist is set instead.
  ['Inet/Settings', 'ooInetProxyType', 2],
  ['Inet/Settings', 'ooInetHTTPProxyName', '127.0.0.1'],
  ['Inet/Settings', 'ooInetHTTPProxyPort', 9],
  ['Inet/Settings', 'ooInetHTTPSProxyName', '127.0.0.1'],
  ['Inet/Settings', 'ooInetHTTPSProxyPort', 9],
  ['Inet/Settings', 'ooInetNoProxy', ''],
]

const settings = [
  '<?xml version="1.0" encoding="UTF-8"?>',
  '<oor:items xmlns:oor="http://openoffice.org/2001/registry">',
  ...values.map(
    ([path, name, value]) =>
      `<item oor:path="/org.openoffice.${path}"><prop oor:name="${name}" oor:op="fuse"><value>${value}</value></prop></item>`,
  ),
  '</oor:items>',
].join('\n')
