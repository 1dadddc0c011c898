-- Runs inside the Neovim that is certified: starts the plugin, and offers the stimuli as one function.
--
-- Each stimulus is a line on the socket that amp.nvim.yaml names, `{"NAME":{…}}`. It is answered by a line once it is
-- done: `{"ok":null}`, or `{"error":"…"}`.

-- Only the plugin is on trial: no dialogs about swap files, no waiting for a key.
vim.o.swapfile = false
vim.o.shortmess = vim.o.shortmess .. "AIF"
vim.o.more = false

local namespace = vim.api.nvim_create_namespace("wirecert")

-- The buffer of exactly this path. `bufnr()` would take the path for a pattern.
local function buffer(path)
  local buf = vim.fn.bufadd(path)
  vim.fn.bufload(buf)
  return buf
end

-- The lines of a text, as a buffer holds them: a final newline ends the last line and begins no other.
local function lines(text)
  local list = vim.split(text, "\n", { plain = true })
  if #list > 1 and list[#list] == "" then
    table.remove(list)
  end
  return list
end

local function leave_visual_mode()
  vim.cmd.normal({ args = { "\27" }, bang = true })
end

-- Shows a file in the current window. Without `magic` the path is taken literally.
local function show(path)
  leave_visual_mode()
  if vim.api.nvim_buf_get_name(0) ~= path then
    vim.cmd({ cmd = "edit", args = { path }, magic = { file = false, bar = false } })
  end
end

local stimuli = {}

function stimuli.open(p)
  show(p.path)
end

function stimuli.open_beside(p)
  leave_visual_mode()
  vim.cmd.split()
  show(p.path)
end

function stimuli.close(p)
  leave_visual_mode()
  vim.api.nvim_buf_delete(buffer(p.path), { force = true })
end

-- Selects text from one end to the other, where the cursor is then. Positions count from 0 and the end is exclusive; Visual mode
-- includes the character under the cursor.
local function select_text(p, backward)
  show(p.path)
  local first = { p.start_line + 1, p.start_col }
  local last = { p.end_line + 1, math.max(p.end_col - 1, 0) }
  if backward then
    first, last = last, first
  end
  vim.api.nvim_win_set_cursor(0, first)
  if p.start_line ~= p.end_line or p.start_col ~= p.end_col then
    vim.cmd.normal({ args = { "v" }, bang = true })
    vim.api.nvim_win_set_cursor(0, last)
  end
  -- Without a screen Neovim may look for a moved cursor only at the next key.
  vim.api.nvim_exec_autocmds("CursorMoved", { modeline = false })
end

function stimuli.select(p)
  select_text(p, false)
end

function stimuli.select_backward(p)
  select_text(p, true)
end

function stimuli.edit(p)
  vim.api.nvim_buf_set_lines(buffer(p.path), 0, -1, false, lines(p.text))
end

function stimuli.diagnostics(p)
  local severities = { error = "ERROR", warning = "WARN", info = "INFO", hint = "HINT" }
  local items = vim.tbl_map(function(item)
    return {
      lnum = item.start_line,
      col = item.start_col,
      end_lnum = item.end_line,
      end_col = item.end_col,
      severity = vim.diagnostic.severity[severities[item.severity]],
      message = item.message,
    }
  end, p.items)
  vim.diagnostic.set(namespace, buffer(p.path), items)
end

function stimuli.message(p)
  assert(require("amp.message").send_message(p.message), "the message was not sent")
end

function stimuli.prompt(p)
  assert(require("amp.message").send_to_prompt(p.message), "the text was not sent")
end

-- Once the answer is out.
local quits = false
function stimuli.quit()
  quits = true
end

local function answer(client, line)
  local name, params = next(vim.json.decode(line))
  local done, problem = pcall(stimuli[name] or function()
    error("there is no stimulus " .. name)
  end, params)
  local result = done and { ok = vim.NIL } or { error = tostring(problem) }
  client:write(vim.json.encode(result) .. "\n", function()
    client:close()
    if quits then
      vim.schedule(function()
        vim.cmd.qall({ bang = true })
      end)
    end
  end)
end

-- A Neovim that was killed leaves its socket, and the next one could not bind beside it.
local socket = vim.env.WIRECERT_RUN_DIR .. "/control.sock"
vim.fn.delete(socket)
local server = assert(vim.uv.new_pipe(false))
assert(server:bind(socket))
server:listen(16, function()
  local client = assert(vim.uv.new_pipe(false))
  server:accept(client)
  local text = ""
  client:read_start(function(_, piece)
    text = text .. (piece or "")
    local line = text:match("^(.-)\n")
    if line then
      client:read_stop()
      vim.schedule(function()
        answer(client, line)
      end)
    elseif not piece then
      client:close()
    end
  end)
end)

require("amp").setup({})
